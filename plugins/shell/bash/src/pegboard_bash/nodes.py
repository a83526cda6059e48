"""Kinds of nodes in the syntax tree, and what is said of those that the walk does not know."""

from __future__ import annotations

SEPARATORS = frozenset({";", "\n", "&&", "||", "|", "|&", "(", ")", "{", "}", "!", "`", "$(", "<(", ">("})
KEYWORDS = frozenset({"if", "then", "fi", "else", "elif", "while", "until", "do", "done", "for", "in"})
TOKENS = SEPARATORS | KEYWORDS
WORDS = frozenset(
    {
        *("word", "number", "string", "raw_string", "concatenation", "ansi_c_string", "simple_expansion", "expansion"),
        *("command_substitution", "process_substitution", "arithmetic_expansion", "brace_expression"),
        *("translated_string", "extglob_pattern", "regex"),
    }
)
FLAT = frozenset({"word", "number", "raw_string", "ansi_c_string", "comment", "heredoc_end", "heredoc_start"})
UNKNOWN_WORDS = {
    "variable_assignment": "It sets a variable of the shell.",
    "variable_assignments": "It sets variables of the shell.",
    "declaration_command": "It declares a variable of the shell.",
    "unset_command": "It unsets something in the shell.",
    "function_definition": "It defines a function.",
    "ERROR": "It cannot be parsed as a bash command.",
}
