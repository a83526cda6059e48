"""May this call run? Decisions that explain themselves, and what a policy plugin needs to have a say in them."""

from pegboard.permission.approved_paths import with_paths
from pegboard.permission.decide import READS, decide
from pegboard.permission.modes import Modes
from pegboard.permission.roots import WorkingDirectories, both_spellings
from pegboard.settings.rules import name_matches, rule_text, split_rule

__all__ = ["READS", "Modes", "WorkingDirectories", "both_spellings", "decide"]
__all__ += ["name_matches", "rule_text", "split_rule", "with_paths"]
