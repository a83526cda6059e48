"""The names of Pegboard's own tools, hooks and settings. Written by core/reserve_names.py; do not edit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pegboard.records import GuardRecord

# fmt: off

DISTRIBUTIONS: frozenset[str] = frozenset([
    "pegboard-agent", "pegboard-anthropic", "pegboard-authors", "pegboard-bash", "pegboard-classifier", "pegboard-cli",
    "pegboard-confine", "pegboard-core", "pegboard-edit", "pegboard-files", "pegboard-glob", "pegboard-grep",
    "pegboard-hooks", "pegboard-hosts", "pegboard-http", "pegboard-ignore", "pegboard-media", "pegboard-memory",
    "pegboard-notebook", "pegboard-openai", "pegboard-patch", "pegboard-processes", "pegboard-prompt", "pegboard-read",
    "pegboard-rules", "pegboard-sandbox", "pegboard-session", "pegboard-tasks", "pegboard-testing", "pegboard-todo",
    "pegboard-toolsearch", "pegboard-trust", "pegboard-webfetch", "pegboard-write",
])
"""Every distribution of the workspace."""

PLUGINS: frozenset[tuple[str, str]] = frozenset([
    ("pegboard-agent", "agents.agent"), ("pegboard-anthropic", "providers.anthropic"), ("pegboard-bash", "shell.bash"),
    ("pegboard-classifier", "policy.classifier"), ("pegboard-edit", "files.edit"), ("pegboard-files", "support.files"),
    ("pegboard-glob", "search.glob"), ("pegboard-grep", "search.grep"), ("pegboard-hooks", "policy.hooks"),
    ("pegboard-memory", "host.memory"), ("pegboard-notebook", "files.notebook"), ("pegboard-openai",
    "providers.openai"), ("pegboard-patch", "files.patch"), ("pegboard-processes", "support.processes"),
    ("pegboard-prompt", "host.prompt"), ("pegboard-read", "files.read"), ("pegboard-rules", "policy.rules"),
    ("pegboard-sandbox", "policy.sandbox"), ("pegboard-tasks", "tasks.background"), ("pegboard-todo", "tasks.todo"),
    ("pegboard-toolsearch", "discovery.toolsearch"), ("pegboard-webfetch", "web.fetch"), ("pegboard-write",
    "files.write"),
])
"""Every plugin: its distribution and its entry point."""

OWNERS: dict[str, tuple[str, str]] = {
    "Agent": ("pegboard-agent", "agents.agent"), "ApplyPatch": ("pegboard-patch", "files.patch"), "Bash":
    ("pegboard-bash", "shell.bash"), "Edit": ("pegboard-edit", "files.edit"), "Glob": ("pegboard-glob", "search.glob"),
    "Grep": ("pegboard-grep", "search.grep"), "NotebookEdit": ("pegboard-notebook", "files.notebook"), "Read":
    ("pegboard-read", "files.read"), "TaskCreate": ("pegboard-todo", "tasks.todo"), "TaskGet": ("pegboard-todo",
    "tasks.todo"), "TaskList": ("pegboard-todo", "tasks.todo"), "TaskOutput": ("pegboard-tasks", "tasks.background"),
    "TaskStop": ("pegboard-tasks", "tasks.background"), "TaskUpdate": ("pegboard-todo", "tasks.todo"), "TodoWrite":
    ("pegboard-todo", "tasks.todo"), "ToolSearch": ("pegboard-toolsearch", "discovery.toolsearch"), "WebFetch":
    ("pegboard-webfetch", "web.fetch"), "Write": ("pegboard-write", "files.write"),
}
"""Who brings each tool."""

ALIASES: dict[str, str] = {
    "BashOutput": "TaskOutput", "KillShell": "TaskStop", "MultiEdit": "Edit", "Task": "Agent", "apply_patch":
    "ApplyPatch",
}
"""Former names of tools; rules and transcripts still use them."""

HOOKS: dict[str, str] = {
    "add_reminders": "pegboard-session", "after_compact": "pegboard-session", "before_compact": "pegboard-session",
    "before_stop": "pegboard-session", "embed_texts": "pegboard-toolsearch", "end_session": "pegboard-session",
    "find_agents": "pegboard-session", "register_agents": "pegboard-session", "register_models": "pegboard-session",
    "register_providers": "pegboard-session", "register_session_services": "pegboard-session", "start_session":
    "pegboard-session", "submit_prompt": "pegboard-session", "system_prompt_parts": "pegboard-session",
}
"""Who specifies each hook that is not the core's."""

NAMESPACES: dict[str, str] = {
    "agents": "pegboard-agent", "allowManagedHooksOnly": "pegboard-hooks", "allowManagedPermissionRulesOnly":
    "pegboard-rules", "anthropic": "pegboard-anthropic", "appendSystemPrompt": "pegboard-prompt", "audit":
    "pegboard-rules", "availableTools": "pegboard-core", "bash": "pegboard-bash", "betas": "pegboard-session",
    "classifier": "pegboard-classifier", "compaction": "pegboard-session", "contextManagement": "pegboard-session",
    "costBudget": "pegboard-session", "deferral": "pegboard-core", "disable": "pegboard-core", "disableAllHooks":
    "pegboard-hooks", "eager": "pegboard-core", "edit": "pegboard-edit", "effort": "pegboard-session", "env":
    "pegboard-processes", "errorCascade": "pegboard-core", "excludedTools": "pegboard-core", "grep": "pegboard-grep",
    "hooks": "pegboard-hooks", "idleTimeouts": "pegboard-core", "jsonSchema": "pegboard-session", "maxTokens":
    "pegboard-session", "maxToolConcurrency": "pegboard-core", "maxTurns": "pegboard-session", "memory":
    "pegboard-memory", "model": "pegboard-session", "models": "pegboard-session", "only": "pegboard-core", "openai":
    "pegboard-openai", "patch": "pegboard-patch", "permissions": "pegboard-rules", "prefer": "pegboard-core", "prices":
    "pegboard-session", "provider": "pegboard-session", "read": "pegboard-read", "requestHeaders": "pegboard-session",
    "requestMetadata": "pegboard-session", "resultBudgetChars": "pegboard-core", "resultRetentionDays": "pegboard-core",
    "retries": "pegboard-session", "safeMode": "pegboard-core", "sandbox": "pegboard-sandbox", "search":
    "pegboard-ignore", "serviceTier": "pegboard-session", "sessionRetentionDays": "pegboard-session", "speed":
    "pegboard-session", "stopSequences": "pegboard-session", "strict": "pegboard-core", "systemPrompt":
    "pegboard-prompt", "thinking": "pegboard-session", "thinkingBudget": "pegboard-session", "thinkingDisplay":
    "pegboard-session", "timeouts": "pegboard-core", "todo": "pegboard-todo", "tokenBudget": "pegboard-session",
    "webfetch": "pegboard-webfetch", "write": "pegboard-write",
}
"""Who declares the settings with this name or in this group."""

GUARDS: dict[str, GuardRecord] = {
    "audit": {"owner": "pegboard-rules", "plugins": ["policy.rules"]}, "hooks": {"owner": "pegboard-hooks", "plugins":
    ["policy.hooks"], "compatible": True}, "permissions.ask": {"owner": "pegboard-rules", "plugins": ["policy.rules"],
    "repository": True, "compatible": True}, "permissions.deny": {"owner": "pegboard-rules", "plugins":
    ["policy.rules"], "repository": True, "compatible": True}, "permissions.disableAutoMode": {"owner":
    "pegboard-rules", "plugins": ["policy.rules"], "repository": True, "compatible": True},
    "permissions.disableBypassPermissionsMode": {"owner": "pegboard-rules", "plugins": ["policy.rules"], "repository":
    True, "compatible": True}, "sandbox.enabled": {"owner": "pegboard-sandbox", "plugins": ["policy.sandbox"],
    "compatible": True}, "sandbox.filesystem.denyRead": {"owner": "pegboard-sandbox", "plugins": ["policy.sandbox"],
    "repository": True, "compatible": True}, "sandbox.filesystem.denyWrite": {"owner": "pegboard-sandbox", "plugins":
    ["policy.sandbox"], "repository": True, "compatible": True}, "sandbox.network.deniedDomains": {"owner":
    "pegboard-sandbox", "plugins": ["policy.sandbox"], "repository": True, "compatible": True},
}
"""Settings that promise protection, and the plugins that keep the promise."""
