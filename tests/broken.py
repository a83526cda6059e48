"""Plugins that are wrong on purpose, one for each reason to be quarantined."""

from __future__ import annotations

from .venvs import Environment, tool_source

HOOK = "from pegboard import hookimpl\n\n@hookimpl{options}\n{function}\n"
REGISTER = "from pegboard import hookimpl\n\n@hookimpl\ndef register_tools():\n    return {what}\n"
LAST_TOOL = "\n    return [Hello]\n"

BROKEN: dict[str, tuple[str, str]] = {
    "import-error": (
        "import a_module_that_nobody_has\n",
        r"acme_import_error cannot be imported: ModuleNotFoundError: No module named 'a_module_that_nobody_has'",
    ),
    "exit-on-import": (
        "import sys\nsys.exit(3)\n",
        r"acme_exit_on_import calls sys\.exit\(3\) when it is imported\. A plugin must only define things\.",
    ),
    "hook-signature": (
        HOOK.format(options="", function="def check_permission(tool, arguments): return None"),
        (
            r"check_permission in acme_hook_signature/__init__\.py:\d+ asks for 'arguments'; "
            r"check_permission offers args, ctx, facts, tool\."
        ),
    ),
    "unknown-hook": (
        HOOK.format(options="", function="def register_tool(): return []"),
        r"register_tool in acme_unknown_hook/__init__\.py:\d+ is not a hook\. Did you mean 'register_tools'\?",
    ),
    "hook-wrapper": (
        HOOK.format(options="(wrapper=True)", function="def check_permission(tool): return (yield)"),
        (
            r"check_permission in acme_hook_wrapper/__init__\.py:\d+ is a hook wrapper\. It would see the "
            r"awaitable being made, not run\. Implement wrap_execute to surround execution\."
        ),
    ),
    "async-hook": (
        HOOK.format(options="", function="async def serialize_result(tool, value): return None"),
        (
            r"serialize_result in acme_async_hook/__init__\.py:\d+ is an async def, but serialize_result is "
            r"not awaited\. Write a plain def\."
        ),
    ),
    "bad-schema": (
        tool_source("BadSchema").replace("who: str", "who: type(lambda: 0)"),
        r"The input schema of BadSchema cannot be built: \w+: ",
    ),
    "illegal-name": (
        tool_source("Hello", options='name="not a name"'),
        r"'not a name' is not a legal tool name\. Use 1 to 64 letters, digits, _ and -\.",
    ),
    "register-error": (
        REGISTER.format(what="[][0]"),
        r"register_tools failed: IndexError: list index out of range",
    ),
    "not-a-tool": (
        REGISTER.format(what="['Hello']"),
        r"'Hello' is not a tool\. Decorate it with @tool\(\) or subclass Tool\.",
    ),
    "duplicate-tool": (
        tool_source().replace(LAST_TOOL, "\n    return [Hello, Hello]\n"),
        r"register_tools returns two tools named 'Hello'\.",
    ),
    "bad-member": (
        tool_source(options='aliases="Hi"'),
        r"aliases of \w+ must be a tuple of names, got 'Hi'\.",
    ),
    "wrong-api": (
        tool_source(),
        r"It was written for the tool API 2\.0; this is 1\.\d+\. Install a matching version\.",
    ),
    "no-family": (
        tool_source(),
        r"The entry point 'hello' has no family\. Name it family\.plugin, such as files\.hello\.",
    ),
    "duplicate-entry": (
        tool_source(),
        (
            r"acme-ahead and acme-duplicate-entry both define the plugin 'acme\.ahead'; the first is kept\. "
            r"Uninstall one of the two\."
        ),
    ),
    "missing-binary": (
        tool_source("Weld", options='requires_binaries=("a-program-nobody-has",)'),
        r"Weld needs the program 'a-program-nobody-has', which is not on PATH\. Install it and try again\.",
    ),
}
"""For each kind the source of the module, and the reason that is given."""

ENTRIES = {
    "no-family": {"hello": "acme_no_family"},
    "duplicate-entry": {"acme.ahead": "acme_duplicate_entry"},
}
"""The entry points of those that are wrong in their metadata; the others are called after their kind."""


def install_all(environment: Environment) -> None:
    """Every broken plugin at once, a plugin that prints, and one healthy stranger."""
    for kind, (source, _) in BROKEN.items():
        api = {"2.0": "acme_wrong_api"} if kind == "wrong-api" else None
        environment.plugin(f"acme-{kind}", source, ENTRIES.get(kind), api=api)
    environment.plugin("acme-ahead", tool_source("Ahead", prompt="Go ahead,"))
    environment.plugin("acme-noisy", "print('good morning')\n" + tool_source("Noisy"))


def id_of(kind: str) -> str:
    """The id of the broken plugin of this kind."""
    entry = next(iter(ENTRIES.get(kind, {f"acme.{kind}": ""})))
    return f"acme-{kind}:{entry}"
