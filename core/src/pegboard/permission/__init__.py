"""May this call run? Decisions that explain themselves, and what a policy plugin needs to have a say in them."""

from pegboard.contract import with_paths
from pegboard.permission.decide import READS, Modes, WorkingDirectories, both_spellings, decide
from pegboard_settings import name_matches, rule_text, split_rule

__all__ = ["READS", "Modes", "WorkingDirectories", "both_spellings", "decide"]
__all__ += ["name_matches", "rule_text", "split_rule", "with_paths"]
