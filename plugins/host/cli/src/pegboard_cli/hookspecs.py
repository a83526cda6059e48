"""The hooks of the command line.

Implement them like those of the core, with `@hookimpl`. Without this distribution nothing calls them.
"""
# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard import Settings


class CommandLineHooks:
    """The hooks of this distribution. The class is never instantiated: it is read."""

    def diagnose(self, settings: Settings) -> Sequence[str]:
        """Say what is wrong with the settings of this plugin, for `pegboard doctor`.

        Called only by the command, without a board. Answers are collected; each is a finding that names the file and
        what to do, or a `pegboard.Fine` that says what is there. May not await.

        :param settings: the effective settings.

        Example::

            @hookimpl
            def diagnose(settings):
                return [] if shutil.which("bwrap") else ["bwrap is not installed. Install bubblewrap."]
        """
