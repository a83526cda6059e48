"""Words that several messages share: values at a glance, lists, and what was probably meant."""

from pegboard_settings.wording import LOOSE as LOOSE
from pegboard_settings.wording import counted, did_you_mean, listed, nearest, on_one_line, shown
from pegboard_settings.wording import slip as slip

__all__ = ["counted", "did_you_mean", "listed", "nearest", "on_one_line", "shown"]
