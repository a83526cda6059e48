"""May this call run? Decisions that explain themselves, and what a policy plugin needs to have a say in them."""

from pegboard.contract import with_paths
from pegboard.permission.decide import (
    READS,
    SAFETY,
    Modes,
    WorkingDirectories,
    both_spellings,
    by_facts,
    by_paths,
    decide,
    may_classify,
)
from pegboard_settings import name_matches, rule_text, split_rule

__all__ = ["READS", "SAFETY", "Modes", "WorkingDirectories", "both_spellings", "by_facts", "by_paths", "decide"]
__all__ += ["may_classify", "name_matches", "rule_text", "split_rule", "with_paths"]
