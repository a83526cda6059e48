"""Write the reference from the code itself. `python docs/generate.py --check` fails when a page is out of date."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import FunctionType

import hook_examples
from facade import library, session, testing

from pegboard.hookspecs import Hooks
from pegboard.plugins.builtin import is_own
from pegboard.settings import installed_keys
from pegboard_cli.help import foreign_commands
from pegboard_cli.main import COMMANDS

HERE = Path(__file__).parent / "reference"
HEAD = "<!-- Written by docs/generate.py; do not edit. -->\n\n"


def hooks() -> str:
    """Every hook in firing order, those of the core first."""
    found = entry_points(group="pegboard.hookspecs")
    ours = sorted((entry.dist.name, entry.load()) for entry in found if entry.dist and is_own(entry.dist.name))
    parts = ["# Hooks\n\nEach distribution specifies the hooks that it calls.\n"]
    for dist, specs in [("pegboard-core", Hooks), *ours]:
        parts.append(f"\n## {dist}\n\n{inspect.cleandoc(inspect.getmodule(specs).__doc__)}\n")
        parts += [
            part for name, hook in vars(specs).items() if not name.startswith("_") for part in one_hook(name, hook)
        ]
    parts += ["\n## Others\n\nA distribution may [offer hooks of its own](../how-to/offer-hooks-of-your-own.md).\n"]
    return "".join(parts)


def one_hook(name: str, hook: FunctionType) -> Iterator[str]:
    """The section of a hook."""
    about, _, example = inspect.getdoc(hook).partition("Example::")
    parameters = [p for p in inspect.signature(hook).parameters if p != "self"]
    awaits = "may be `async def`" if inspect.iscoroutinefunction(hook) else "must be a plain `def`"
    yield f"\n### {name}\n\n`{name}({', '.join(parameters)})`, {awaits}.\n\n"
    for line in about.strip().splitlines():
        if line.startswith(":param "):
            parameter, _, meaning = line.removeprefix(":param ").partition(": ")
            line = f"- `{parameter}`: {meaning}"
        yield line + "\n"
    yield f"\n```python\n{inspect.cleandoc(example) or inspect.getsource(getattr(hook_examples, name)).rstrip()}\n```\n"


def settings() -> str:
    """Every setting."""
    merges = {
        "union": "all layers together",
        "intersect": "what all layers agree on",
        "first": "the strongest layer",
        "merge": "all layers, the strongest wins for each name",
        "concat": "all layers together, name by name",
    }
    parts = [
        "# Settings\n\n",
        "Layers, strongest first: baked feature file, ",
        "managed (`/etc/pegboard/settings.json` and `settings.d/*.json`), ",
        "command line or application, environment, local (`.pegboard/settings.local.json`), ",
        "project (`.pegboard/settings.json`), user (`~/.pegboard/settings.json`).\n",
        'A key with a dot is nested in the file: `permissions.deny` is `{"permissions": {"deny": []}}`.\n',
        "Each distribution declares its own settings in its `pegboard.toml`; ",
        "[yours can too](../how-to/give-your-plugin-settings.md).\n",
        "A setting marked as a guard promises protection: ",
        "where it is set and its plugin is absent, nothing that acts will start.\n",
    ]
    keys = installed_keys()
    owners = sorted({keys.owner(name) for name in keys if is_own(keys.owner(name))} - {"pegboard-core"})
    head = "| setting | kind | default | layers combine to | from a repository | meaning |\n|---|---|---|---|---|---|\n"
    for owner in ("pegboard-core", *owners):
        parts.append(f"\n## {owner}\n\n{head}")
        for key in (keys[name] for name in keys if keys.owner(name) == owner):
            choices = ", ".join(f"`{choice}`" for choice in key.choices)
            kind = f"{key.kind} of {choices}" if choices and key.kind == "map" else choices or key.kind
            default = f"`{json.dumps(key.default)}`" if key.has_default else ""
            repo = "yes" if key.repository else "only when trusted"
            more = f" Variable: `{key.variable}`." if key.variable else ""
            more += " A guard." if key.guard else ""
            parts.append(f"| `{key.name}` | {kind} | {default} | {merges[key.combine]} | {repo} | {key.doc}{more} |\n")
    return "".join(parts)


def command_line() -> str:
    """The help of every command."""
    parts = [
        "# Command line\n\n",
        "Exit codes: 0 ok · 1 tool error, or findings of `doctor` and `check` ",
        "· 2 usage, unknown tool, invalid input, invalid settings · 3 denied, or no one could be asked ",
        "· 4 ask (`why` only) · 5 provider failed · 128 and the number of the signal that stopped it: ",
        "129 hang-up, 130 interrupted, 141 the reader closed the pipe, 143 terminated.\n",
    ]
    names = [*COMMANDS, *sorted({command["name"] for command in foreign_commands()})]
    parts += [f"\n## pegboard {name}\n\n```text\n{run(name, '--help').strip()}\n```\n" for name in names]
    return "".join(parts)


def tools() -> str:
    """Every built-in tool as the model sees it."""
    parts = ["# Tools\n"]
    definitions = {definition["name"]: definition for definition in json.loads(run("tools", "--request"))}
    for row in json.loads(run("tools", "--json")):
        definition = definitions[row["name"]]
        schema = json.dumps(definition["input_schema"], indent=2, ensure_ascii=False)
        parts.append(f"\n## {row['name']}\n\n`{row['distribution']}`, entry point `{row['entry']}`, ")
        parts.append(
            f"about {row['tokens']} tokens.\n\nThe model reads:\n\n```text\n{definition['description']}\n```\n\n"
        )
        parts.append(f"```json\n{schema}\n```\n")
    return "".join(parts)


EVERYTHING = {"complete": {"required": True}}
"""Settings with which every tool is there."""


def run(*words: str) -> str:
    """What the command prints in a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        Path(home, ".pegboard").mkdir()
        Path(home, ".pegboard/settings.json").write_text(json.dumps(EVERYTHING))
        env = {"HOME": home, "PATH": os.environ.get("PATH", ""), "COLUMNS": "100"}
        command = [sys.executable, "-m", "pegboard_cli", *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True, cwd=home).stdout


PAGES = {
    "hooks.md": hooks,
    "settings.md": settings,
    "cli.md": command_line,
    "tools.md": tools,
    "library.md": library,
    "session.md": session,
    "testing.md": testing,
}


def main() -> int:
    """Write the pages, or with `--check` compare them."""
    stale = []
    for name, make in PAGES.items():
        if name == "cli.md" and "--check" in sys.argv and sys.version_info >= (3, 13):
            continue  # argparse lays help out differently from 3.13 on; the page is made with an older one.
        path, text = HERE / name, HEAD + make()
        if "--check" in sys.argv:
            if not path.exists() or path.read_text() != text:
                stale.append(name)
        else:
            path.write_text(text)
    if stale:
        print(f"out of date: {', '.join(stale)}. Run python docs/generate.py.")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
