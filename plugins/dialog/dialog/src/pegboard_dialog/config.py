"""Look at settings, and change one: always with a question, and never what guards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from pegboard import Ask, Context, Decision, Deny, Facts, Input, SettingsError, Tool, ToolError
from pegboard.settings import parse
from pegboard.wording import did_you_mean, shown
from pegboard_dialog.allowed_changes import misfit, refusal, shown_value
from pegboard_dialog.json_text import REMOVE, with_value
from pegboard_dialog.terminal import terminal_rows
from pegboard_trust import Trust
from pegboard_trust.own_files import change_local_file, change_user_file, local_file, user_file

STRONGER = ("cli", "env", "local")


class ConfigInput(Input):
    action: Literal["list", "get", "set"]
    """list: settings that are set, or a group of them. get: one setting with its meaning. set: change one."""
    setting: str = ""
    """The name, such as `bash.defaultTimeoutMs`; for list a group, such as `bash`."""
    value: bool | int | float | str | None = None
    """The new value for set. Leave it out to take the setting away again."""
    scope: Literal["project", "user"] = "project"
    """Where set writes: the user's own file for this project, or the user's file for all projects."""


class Origin(BaseModel):
    layer: str
    source: str
    value: Any


class SettingRow(BaseModel):
    setting: str
    value: Any
    layer: str
    origins: list[Origin] = []
    meaning: str = ""


class ConfigOutput(BaseModel):
    action: Literal["list", "get", "set"]
    settings: list[SettingRow] = []
    file: str = ""
    """The file that was changed."""
    note: str = ""


class Config(Tool[ConfigInput, ConfigOutput]):
    """Look at the settings of this program and where each comes from, or change one for the user.

    Change a setting only when the user asks for it: they are asked to approve each change. Permissions, hooks, the
    sandbox, servers and whatever else guards or runs something cannot be changed with this.
    """

    subagents = False
    rule_subject = "name"
    rule_parameter = "setting"
    search_hint = "settings configuration preferences show change"

    def validate_input(self, args: ConfigInput, /) -> str | None:
        if args.action != "list" and not args.setting:
            return f"action {args.action} needs the name of a setting."
        if args.action != "set" and ("value" in args.model_fields_set or "scope" in args.model_fields_set):
            return f"action {args.action} takes no value and no scope."
        return None

    def facts(self, args: ConfigInput, ctx: Context, /) -> Facts:
        if args.action != "set":
            return Facts(read_only=True, concurrency_safe=True, open_world=False)
        return Facts(open_world=False, writes=(Path(_file(args, ctx)),), reason="Config changes a settings file.")

    def check_permission(self, args: ConfigInput, ctx: Context, /) -> Decision | None:
        """A person is asked about each change, whatever the mode and the rules say."""
        if args.action != "set":
            return None
        if reason := refusal(args.setting, ctx):
            return Deny(f"{reason} Nothing was changed.")
        if args.value is not None and (reason := misfit(args.setting, args.value, ctx)):
            raise ToolError(f"{reason} Nothing was changed.")
        return Ask(f"Config would change the setting {args.setting}.", layer="forced")

    def call(self, args: ConfigInput, ctx: Context, /) -> ConfigOutput:
        if args.action == "set":
            return _set(args, ctx)
        rows = _rows(ctx, unset=bool(args.setting))
        if args.setting:
            inside = f"{args.setting}."
            known = [row.setting for row in rows]
            is_group = args.action == "list"
            rows = [r for r in rows if r.setting == args.setting or (is_group and r.setting.startswith(inside))]
            if not rows:
                hint = did_you_mean(args.setting, known)
                raise ToolError(f"There is no setting {args.setting!r}.{hint}", code="not_found")
        return ConfigOutput(action=args.action, settings=rows)

    def content(self, value: ConfigOutput, /) -> str:
        if value.action == "set":
            return value.note
        if not value.settings:
            return "No setting is set: all have their defaults."
        return "\n".join(_line(row, meaning=value.action == "get") for row in value.settings)

    def describe(self, args: ConfigInput, /) -> str:
        if args.action != "set":
            return f"Look at {f'the setting {args.setting}' if args.setting else 'the settings'}"
        where = "for all projects" if args.scope == "user" else "for this project"
        return f"Take away {args.setting} {where}" if args.value is None else (
            f"Set {args.setting} to {shown(args.value)} {where}"
        )  # fmt: skip

    def preview(self, args: ConfigInput, ctx: Context, /) -> str | None:
        if args.action != "set" or refusal(args.setting, ctx):
            return None
        now = ctx.settings.get(args.setting)
        new = "(taken away)" if args.value is None else json.dumps(args.value, ensure_ascii=False)
        return f"{_file(args, ctx)}\n-{args.setting}: {json.dumps(now, ensure_ascii=False)}\n+{args.setting}: {new}"

    def render_result(self, value: ConfigOutput, /) -> object | None:
        if value.action == "set":
            return value.note
        return terminal_rows([(f"{row.setting} ", json.dumps(row.value)) for row in value.settings])


def _file(args: ConfigInput, ctx: Context) -> str:
    try:
        return user_file() if args.scope == "user" else local_file(ctx.settings)
    except SettingsError as error:
        raise ToolError(str(error), code="unsupported") from None


def _rows(ctx: Context, *, unset: bool) -> list[SettingRow]:
    keys, rows = ctx.settings.keys, list[SettingRow]()
    for found in ctx.settings.explain(unset=unset):
        key = keys[found["key"]]
        origins = [Origin(**{**said, "value": shown_value(key, said["value"])}) for said in found["from"]]
        value = shown_value(key, found["value"])
        rows.append(SettingRow(setting=key.name, value=value, layer=found["layer"], origins=origins, meaning=key.doc))
    return rows


def _line(row: SettingRow, *, meaning: bool) -> str:
    where = ", ".join(origin.source for origin in row.origins) or "default"
    line = f"{row.setting} = {json.dumps(row.value, ensure_ascii=False, default=str)} ({row.layer}: {where})"
    line = line.replace("(default: default)", "(default)")
    return f"{line}\n{row.meaning}" if meaning else line


def _set(args: ConfigInput, ctx: Context) -> ConfigOutput:
    name, settings = args.setting, ctx.settings
    if reason := refusal(name, ctx):  # A hook may have given another input since.
        raise ToolError(f"{reason} Nothing was changed.", code="permission_denied", remedy="")
    path = _file(args, ctx)

    def change(raw: bytes | None) -> bytes:
        before = parse(raw, path) if raw else {}  # A file that is broken is not changed.
        mark = b"\xef\xbb\xbf" if raw and raw.startswith(b"\xef\xbb\xbf") else b""
        made = with_value((raw or b"").decode("utf-8-sig"), name, REMOVE if args.value is None else args.value)
        if _flat(parse(made.encode(), path)) != _expected(before, name, args.value):
            raise SettingsError(f"{name} cannot be written there without changing something else.", source=path)
        return mark + made.encode()

    try:
        where = change_user_file(path, change) if args.scope == "user" else (
            change_local_file(settings, Trust.of(), change)
        )  # fmt: skip
    except SettingsError as error:
        raise ToolError(f"{error} Nothing was changed.", code="failed", remedy="") from None
    verb = "Took away" if args.value is None else "Set"
    to = "" if args.value is None else f" to {json.dumps(args.value, ensure_ascii=False)}"
    note = f"{verb} {name}{to} in {where}. It counts from the next session on.{_overruled(args, ctx)}"
    return ConfigOutput(action="set", file=where, note=note)


def _overruled(args: ConfigInput, ctx: Context) -> str:
    """What is stronger than the file that was written."""
    stronger = ("cli", "env") if args.scope == "project" else (*STRONGER, "project")
    for layer in ctx.settings.holders(args.setting):
        if layer.name in stronger:
            return f" Where {layer.source_of(args.setting)} is used, its value counts instead."
    return ""


def _flat(found: Any, prefix: str = "") -> dict[str, Any]:
    """Every value under its dotted name, however it was written; empty objects do not matter."""
    if not isinstance(found, dict):
        return {prefix[:-1]: found}
    flat: dict[str, Any] = {}
    for name, value in found.items():
        flat |= _flat(value, f"{prefix}{name}.")
    return flat


def _expected(before: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    flat = _flat(before)
    if value is None:
        flat.pop(name, None)
    else:
        flat[name] = value
    return flat
