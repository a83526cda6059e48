"""The tools that are Pegboard's own. "Built-in" means being in this table, not having a certain prefix.

The names are reserved even where the distribution is not installed: nobody else becomes `Bash` by accident.
"""

from __future__ import annotations

OWNERS: dict[str, tuple[str, str]] = {
    "Read": ("pegboard-read", "files.read"),
    "Edit": ("pegboard-edit", "files.edit"),
    "Write": ("pegboard-write", "files.write"),
    "NotebookEdit": ("pegboard-notebook", "files.notebook"),
    "Grep": ("pegboard-grep", "search.grep"),
    "Glob": ("pegboard-glob", "search.glob"),
    "LSP": ("pegboard-lsp", "search.lsp"),
    "Bash": ("pegboard-bash", "shell.bash"),
    "REPL": ("pegboard-repl", "shell.repl"),
    "Monitor": ("pegboard-monitor", "shell.monitor"),
    "TaskOutput": ("pegboard-tasks", "tasks.background"),
    "TaskStop": ("pegboard-tasks", "tasks.background"),
    "TaskCreate": ("pegboard-todo", "tasks.todo"),
    "TaskGet": ("pegboard-todo", "tasks.todo"),
    "TaskUpdate": ("pegboard-todo", "tasks.todo"),
    "TaskList": ("pegboard-todo", "tasks.todo"),
    "TodoWrite": ("pegboard-todo", "tasks.todo"),
    "Sleep": ("pegboard-timer", "tasks.timer"),
    "CronCreate": ("pegboard-timer", "tasks.timer"),
    "CronDelete": ("pegboard-timer", "tasks.timer"),
    "CronList": ("pegboard-timer", "tasks.timer"),
    "WebFetch": ("pegboard-webfetch", "web.fetch"),
    "WebSearch": ("pegboard-websearch", "web.search"),
    "Agent": ("pegboard-agent", "agents.agent"),
    "TeamCreate": ("pegboard-team", "agents.team"),
    "TeamDelete": ("pegboard-team", "agents.team"),
    "SendMessage": ("pegboard-team", "agents.team"),
    "EnterWorktree": ("pegboard-worktree", "agents.worktree"),
    "ExitWorktree": ("pegboard-worktree", "agents.worktree"),
    "EnterPlanMode": ("pegboard-plan", "dialog.plan"),
    "ExitPlanMode": ("pegboard-plan", "dialog.plan"),
    "AskUserQuestion": ("pegboard-ask", "dialog.ask"),
    "Config": ("pegboard-config", "dialog.config"),
    "Skill": ("pegboard-skill", "discovery.skill"),
    "ToolSearch": ("pegboard-toolsearch", "discovery.toolsearch"),
    "ListMcpResources": ("pegboard-mcp", "mcp.client"),
    "ReadMcpResource": ("pegboard-mcp", "mcp.client"),
}

ALIASES = {"Task": "Agent", "KillShell": "TaskStop", "BashOutput": "TaskOutput"}
"""Former names of built-in tools; rules and transcripts still use them."""

RESERVED = frozenset(OWNERS) | frozenset(ALIASES)

FAMILIES = ("files", "search", "shell", "tasks", "web", "agents", "dialog", "discovery", "mcp")
BY_FULL_NAME = ("providers", "policy")
"""Families that hold no tools: family switches do not reach them, their plugins are named one by one."""

OTHERS = {
    "pegboard-anthropic": ("providers.anthropic",),
    "pegboard-hooks": ("policy.hooks",),
    "pegboard-sandbox": ("policy.sandbox",),
    "pegboard-classifier": ("policy.classifier",),
}
"""Pegboard's own plugins that bring no tool."""

PLUGINS = frozenset(OWNERS.values()) | {(dist, entry) for dist, entries in OTHERS.items() for entry in entries}


def is_builtin(dist: str, entry: str) -> bool:
    """Whether this plugin is one of Pegboard's own."""
    return (normalise(dist), entry) in PLUGINS


def owner_of(name: str) -> tuple[str, str] | None:
    """The distribution and entry that own a reserved name."""
    return OWNERS.get(ALIASES.get(name, name))


def normalise(dist: str) -> str:
    """Distribution names compare without regard to case and to the choice of `-`, `_` and `.`."""
    return "-".join(part for part in dist.lower().replace("_", "-").replace(".", "-").split("-") if part)
