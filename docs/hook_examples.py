"""A plugin with an example of each hook of the core. `docs/generate.py` shows them on the reference page.

It is a module like any other, so that linters read it and a test checks its hooks as the loader checks a plugin's.
"""
# ruff: noqa: N802, RET503 - A tool has the name that a model calls; a hook that has nothing to say returns nothing.

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from anyio import to_thread

from pegboard import After, Allow, Before, Context, Deny, Input, Mode, Notice, Text, hookimpl, tool


class WordCountInput(Input):
    text: str


@tool(read_only=True, open_world=False)
def WordCount(args: WordCountInput, ctx: Context) -> str:
    """Count words."""
    return str(len(args.text.split()))


class Clock:
    name, version = "clock", 0

    def tools(self):
        return [WordCount]


class DecisionLog:
    def __init__(self, root):
        self.root = root


def refuse_at_night(tool, facts, ctx):
    return Deny("It is late.") if datetime.now().hour >= 22 else None


@hookimpl
def register_tools():
    return [WordCount]


@hookimpl
def register_services(settings):
    return {"acme.cache": {}}


@hookimpl
def register_modes():
    return [Mode("office-hours", refuse_at_night, width=-1)]


@hookimpl
def record_decisions(settings):
    return DecisionLog(settings.root)


@hookimpl
def check_tools(settings, tools):
    return [] if "Deploy" in tools else [Notice("acme", "There is no tool Deploy.")]


@hookimpl
def tool_sources(settings):
    return [Clock()]


@hookimpl
def edit_definition(definition, profile):
    if profile.model.startswith("small-"):
        return {**definition, "description": definition["description"].split("\n")[0]}


@hookimpl
def validate_input(tool, args):
    if tool.name == "Read" and args.file_path.suffix == ".pem":
        return "Keys are not read here."


@hookimpl
def before_call(call, args):
    if call.name == "Read" and args.limit is None:
        return Before(input={**args.model_dump(mode="json", exclude_none=True), "limit": 500})


@hookimpl
async def check_permission(tool, facts, ctx):
    if ctx.cwd.name == "production" and not facts.read_only:
        return Deny("Nothing changes in production.")


@hookimpl
async def classify_call(tool, args):
    return Allow("A harmless name.") if tool.name.startswith("List") else None


@hookimpl
def suggest_rules(tool, decision):
    return [f"{tool.name}(*)"] if decision.layer == "default" else None


@hookimpl
async def ask_user(question):
    said = await to_thread.run_sync(input, f"{question.description}? ")
    return Allow("by hand") if said == "y" else Deny("by hand")


@hookimpl
def keep_rules(rules, ctx):
    path = ctx.cwd / "rules.txt"
    path.write_text(" ".join(rules))
    return str(path)


@hookimpl
def filter_paths():
    return lambda path: not path.endswith(".pem")


@hookimpl
def wrap_execute(tool, execute):
    async def twice(args, ctx):
        try:
            return await execute(args, ctx)
        except ConnectionError:
            return await execute(args, ctx)

    return twice if tool.name == "WebFetch" else None


@hookimpl
def wrap_process(spec):
    return replace(spec, argv=("nice", *spec.argv))


@hookimpl
def after_call(call, value):
    if call.name == "Read" and "BEGIN PRIVATE KEY" in str(value):
        return After("(a private key, withheld)", replaces=True)


@hookimpl
def after_failure(call, result):
    if result.code == "timeout":
        return After(context="The machine is busy; try a smaller step.")


@hookimpl
def serialize_result(tool, value):
    if isinstance(value, datetime):
        return [Text(value.isoformat())]


@hookimpl
def observe(event):
    if event.kind == "call_finished":
        print(event.data["name"], event.data["ms"])
