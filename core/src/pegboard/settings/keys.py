"""Every setting that exists: its shape, how layers combine, and whether a repository may set it."""

from __future__ import annotations


class Key:
    """One setting. `merge` says how layers combine; `needs_trust` keeps a cloned repository from loosening anything."""

    __slots__ = ("doc", "kind", "merge", "needs_trust", "variable")

    def __init__(self, kind: str, merge: str, doc: str, *, needs_trust: bool = False, variable: str = "") -> None:
        self.kind, self.merge, self.doc = kind, merge, doc
        self.needs_trust, self.variable = needs_trust, variable


KEYS = {
    "disable": Key(
        "strings",
        "union",
        "Families, plugins, distributions or tools to switch off. Every layer adds to the list.",
        variable="PEGBOARD_DISABLE",
    ),
    "only": Key(
        "strings",
        "intersect",
        "The only families, plugins, distributions or built-in tools that may be used. Every layer narrows the choice.",
        variable="PEGBOARD_ONLY",
    ),
    "availableTools": Key("strings", "first", "Show the model only these tools."),
    "excludedTools": Key("strings", "union", "Hide these tools from the model; ignored where availableTools is set."),
    "prefer": Key(
        "map",
        "merge",
        'Who owns a contested name: {"Read": "acme-files"} gives the tool Read to the distribution acme-files.',
        needs_trust=True,
    ),
    "strict": Key(
        "bool", "first", "Stop at the first plugin that fails to load.", variable="PEGBOARD_STRICT", needs_trust=True
    ),
    "safeMode": Key(
        "bool",
        "first",
        "Load no third-party tool plugins, to find out whether one of them is the trouble.",
        variable="PEGBOARD_SAFE_MODE",
    ),
    "maxToolConcurrency": Key(
        "count",
        "first",
        "How many calls of a turn run at once; the default is 10.",
        variable="PEGBOARD_MAX_TOOL_CONCURRENCY",
        needs_trust=True,
    ),
    "errorCascade": Key(
        "bool",
        "first",
        "Whether a failed command cancels the calls after it in the same turn; the default is true.",
        needs_trust=True,
    ),
    "eager": Key(
        "safe|all",
        "first",
        "What starts while the model still writes: safe (calls that only read, the default) or all.",
        needs_trust=True,
    ),
    "timeouts": Key("seconds", "merge", 'Seconds a call may take, by tool, family or "*".', needs_trust=True),
    "idleTimeouts": Key(
        "seconds", "merge", 'Seconds without a sign of life that stop a call, by tool, family or "*".', needs_trust=True
    ),
    "resultBudgetChars": Key(
        "count",
        "first",
        "How many characters the results of one turn may add; the default is 200000.",
        needs_trust=True,
    ),
    "resultRetentionDays": Key(
        "count", "first", "How many days saved results are kept; the default is 30.", needs_trust=True
    ),
    "sessionRetentionDays": Key(
        "count", "first", "How many days transcripts are kept; the default is 30.", needs_trust=True
    ),
    "read.maxTokens": Key(
        "count",
        "first",
        "How many tokens of a file one Read may show, as estimated; the default is 25000.",
        needs_trust=True,
    ),
    "edit.knowledge": Key(
        "strict|match",
        "first",
        "What Edit needs: strict (the file was read whole, or Bash showed the lines) or match (the default: the text "
        "to replace is found once).",
        needs_trust=True,
    ),
    "edit.tolerance": Key(
        "strings",
        "first",
        "How Edit may find text that does not match exactly: newline (the default), trailing-whitespace, indentation, "
        "unicode, escapes. An empty list allows exact matches only.",
        needs_trust=True,
    ),
    "write.maxShrinkPercent": Key(
        "count",
        "first",
        "How much smaller Write may make a file of 20 lines or more, in per cent; the default is 70, 100 allows all.",
        needs_trust=True,
    ),
    "write.placeholders": Key(
        "refuse|allow",
        "first",
        "What Write does about lines that stand for left-out text when it replaces a file; the default is refuse.",
        needs_trust=True,
    ),
    "write.maxBytes": Key(
        "count", "first", "How many bytes Write may write at once; the default is 10000000.", needs_trust=True
    ),
    "model": Key("string", "first", "The model to ask.", needs_trust=True),
    "provider": Key("string", "first", "The provider to use; the default is anthropic.", needs_trust=True),
    "anthropic.client": Key(
        "first-party|bedrock|vertex|foundry",
        "first",
        "Where Anthropic models are reached; the default is first-party.",
        needs_trust=True,
    ),
    "grep.engine": Key(
        "bundled|system|python",
        "first",
        "What Grep searches with: the ripgrep that comes along (the default), the one on PATH, or Python.",
        needs_trust=True,
    ),
    "search.timeoutSeconds": Key(
        "count", "first", "Seconds after which Grep and Glob return what they have; the default is 20, under WSL 60."
    ),
    "search.hidden": Key("bool", "first", "Whether Grep and Glob see hidden files; the default is true."),
    "maxTurns": Key("count", "first", "How many requests one prompt may take; the default is 200.", needs_trust=True),
    "tokenBudget": Key(
        "count", "first", "How many tokens one session may use, those of its agents included.", needs_trust=True
    ),
    "costBudget": Key(
        "amount",
        "first",
        "What one session may cost, its agents included, in the currency of prices. Every model then needs a price.",
        needs_trust=True,
    ),
    "prices": Key(
        "prices",
        "merge",
        'What a million tokens cost: {"model": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}}. '
        "The name of a model may end in *.",
        needs_trust=True,
    ),
    "classifier.model": Key("string", "first", "The model that judges calls in the mode auto.", needs_trust=True),
    "classifier.seconds": Key(
        "count", "first", "How long the classifier may take; the default is 20.", needs_trust=True
    ),
    "agents.maxDepth": Key("count", "first", "How deep agents may be nested; the default is 3.", needs_trust=True),
    "agents.maxConcurrent": Key(
        "count", "first", "How many agents of a session may be at work at once; the default is 20.", needs_trust=True
    ),
    "agents.timeoutSeconds": Key(
        "count",
        "first",
        "How many seconds an agent may take unless the call says otherwise; the default is 3600.",
        needs_trust=True,
    ),
    "agents.tokenBudget": Key(
        "count",
        "first",
        "How many tokens one agent may use, those of its own agents included.",
        needs_trust=True,
    ),
    "agents.costBudget": Key(
        "amount",
        "first",
        "What one agent may cost, its own agents included, in the currency of prices.",
        needs_trust=True,
    ),
    "agents.allowedModels": Key(
        "strings",
        "intersect",
        "The only models that agents may ask; for others the parent's is used, with a warning. Every layer narrows.",
        needs_trust=True,
    ),
    "agents.modelAliases": Key(
        "map", "merge", 'What short names of models mean: {"small": "claude-haiku-5"}.', needs_trust=True
    ),
    "agents.worktreeBase": Key(
        "default-branch|head",
        "first",
        "Where the worktree of an isolated agent starts: default-branch (the default) or head.",
    ),
    "permissions.deny": Key(
        "rules", "union", "Rules for calls that must not run. A bare tool name also hides the tool."
    ),
    "permissions.ask": Key("rules", "union", "Rules for calls that a person has to approve."),
    "permissions.allow": Key("rules", "union", "Rules for calls that run without asking.", needs_trust=True),
    "permissions.defaultMode": Key("mode", "first", "The permission mode that a session starts in.", needs_trust=True),
    "permissions.additionalDirectories": Key(
        "strings", "union", "Further folders that tools may use like the working directory.", needs_trust=True
    ),
    "permissions.disableBypassPermissionsMode": Key(
        "disable", "first", 'Set to "disable", nobody can use the mode bypassPermissions. Works from every layer.'
    ),
    "permissions.disableAutoMode": Key(
        "disable", "first", 'Set to "disable", nobody can use the mode auto. Works from every layer.'
    ),
    "hooks": Key(
        "hooks",
        "concat",
        "Commands to run around calls, prompts and sessions, by event. Every layer adds to the list.",
        needs_trust=True,
    ),
    "disableAllHooks": Key(
        "bool",
        "first",
        "Run no hooks. Those of managed settings run all the same, unless managed settings say so.",
        needs_trust=True,
    ),
    "env": Key(
        "map",
        "merge",
        "Variables for the processes that tools start. The host itself never sees them.",
        needs_trust=True,
    ),
    "allowManagedPermissionRulesOnly": Key(
        "bool", "first", "Allow rules count from managed settings only. Managed settings alone may say so."
    ),
    "allowManagedHooksOnly": Key(
        "bool", "first", "Hooks count from managed settings only. Managed settings alone may say so."
    ),
    "audit": Key(
        "bool",
        "first",
        "Whether each decision is noted in the audit log; the default is true.",
        needs_trust=True,
    ),
    "bash.defaultTimeoutMs": Key(
        "count", "first", "Milliseconds that a command may take; the default is 120000.", needs_trust=True
    ),
    "bash.maxTimeoutMs": Key(
        "count",
        "first",
        "The most milliseconds that a model may allow a command; the default is 600000.",
        needs_trust=True,
    ),
    "bash.onTimeout": Key(
        "kill|background",
        "first",
        "Whether a command that takes too long is ended or goes on in the background; the default is kill.",
        needs_trust=True,
    ),
    "bash.maxOutputBytes": Key(
        "count",
        "first",
        "A command that writes more bytes than this is ended; the default is 5000000000.",
        needs_trust=True,
    ),
    "bash.maxMemoryMb": Key(
        "count",
        "first",
        "How many megabytes a command and all it starts may use; no limit by default. Needs a control group.",
        needs_trust=True,
    ),
    "bash.snapshot": Key(
        "bool",
        "first",
        "Whether commands have the aliases and functions of the user's own shell, taken once; the default is false.",
        needs_trust=True,
    ),
    "bash.keepDirectory": Key(
        "bool", "first", "Whether a command starts where the last one ended; the default is true."
    ),
    "webfetch.cacheSeconds": Key("count", "first", "Seconds that a fetched page is kept; the default is 900."),
    "webfetch.userAgent": Key("string", "first", "The User-Agent that WebFetch sends.", needs_trust=True),
    "sandbox.enabled": Key(
        "bool", "first", "Whether processes that tools start run in a sandbox; the default is false.", needs_trust=True
    ),
    "sandbox.mechanism": Key(
        "auto|bubblewrap|landlock",
        "first",
        "What the sandbox is made of: auto (the default) takes bubblewrap, or Landlock where that is missing.",
        needs_trust=True,
    ),
    "sandbox.failIfUnavailable": Key(
        "bool",
        "first",
        "Whether nothing starts where the sandbox cannot be had; the default is true.",
        needs_trust=True,
    ),
    "sandbox.autoAllowBashIfSandboxed": Key(
        "bool",
        "first",
        "Whether Bash asks nobody when bubblewrap holds the command and its network is not on; the default is true.",
        needs_trust=True,
    ),
    "sandbox.allowUnsandboxedCommands": Key(
        "bool",
        "first",
        "Whether a command may ask to run outside the sandbox; a person then decides. The default is false.",
        needs_trust=True,
    ),
    "sandbox.excludedCommands": Key(
        "strings",
        "union",
        "Commands that run outside the sandbox, and ask as usual, such as docker or git push.",
        needs_trust=True,
    ),
    "sandbox.keepEnv": Key(
        "strings",
        "union",
        "Further variables that sandboxed processes get, by name or pattern such as CI_*.",
        needs_trust=True,
    ),
    "sandbox.filesystem.allowWrite": Key(
        "strings",
        "union",
        "Further files and folders that sandboxed processes may change. A relative path starts at the project.",
        needs_trust=True,
    ),
    "sandbox.filesystem.denyWrite": Key(
        "strings", "union", "Files and folders that sandboxed processes may not change, wherever they are."
    ),
    "sandbox.filesystem.denyRead": Key(
        "strings", "union", "Files and folders whose content sandboxed processes do not see."
    ),
    "sandbox.filesystem.allowRead": Key(
        "strings", "union", "What they do see inside a folder that denyRead names.", needs_trust=True
    ),
    "sandbox.network.mode": Key(
        "off|on|proxy",
        "first",
        "What sandboxed processes reach: nothing (off), the hosts in allowedDomains (proxy), or all (on). "
        "The default is proxy where allowedDomains names a host, else off.",
        needs_trust=True,
    ),
    "sandbox.network.allowedDomains": Key(
        "strings",
        "union",
        "Hosts that sandboxed processes reach through the proxy, such as *.example.com; none by default.",
        needs_trust=True,
    ),
    "sandbox.network.deniedDomains": Key(
        "strings", "union", "Hosts that the proxy refuses although allowedDomains covers them."
    ),
    "sandbox.network.allowUnixSockets": Key(
        "strings",
        "union",
        "Sockets that sandboxed processes may connect to, such as ~/.gnupg/S.gpg-agent.",
        needs_trust=True,
    ),
}
"""The table that `pegboard settings`, the reference and the check of unknown keys share."""

NOT_USED: dict[str, tuple[str, object]] = {
    "sandbox.enableWeakerNestedSandbox": ("there is no weaker sandbox; use mechanism", False),
    "sandbox.ignoreViolations": ("what the sandbox refuses is an error of the command", {}),
    "sandbox.filesystem.disabled": ("files are always held; use allowWrite", False),
    "sandbox.network.strictAllowlist": ("nobody is asked about a host; use allowedDomains", True),
    "sandbox.network.allowAllUnixSockets": ("each socket is opened by name; use allowUnixSockets", False),
    "sandbox.network.allowLocalBinding": ("a command may always listen, and only itself can reach it", True),
    "sandbox.network.httpProxyPort": ("the proxy is always our own", None),
    "sandbox.network.socksProxyPort": ("the proxy speaks HTTP only", None),
    "sandbox.network.tlsTerminate": ("the proxy does not look into encrypted traffic", False),
}
"""Settings of compatible hosts that do not exist here: why, and the value that is meant anyway."""

MODES = ("default", "manual", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")
GROUPS = {name[:at] for name in KEYS for at, character in enumerate(name) if character == "."}
VARIABLES = {key.variable: name for name, key in KEYS.items() if key.variable}
