"""The variables that handlers find, and what a handler leaves behind for later commands."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from pegboard import Context, ProcessSpec, ToolError
from pegboard_hooks.handlers import Handler
from pegboard_hooks.session_state import state_of

MENTIONED = re.compile(r"\$\{([A-Z_]+)\}")
WRITES_ENVIRONMENT = ("SessionStart", "CwdChanged")
"""Events at which handlers may set variables for later commands, in the file `CLAUDE_ENV_FILE`."""

SECONDS = 20.0
MAX_BYTES = 1_000_000
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OF_A_SHELL = frozenset(
    {
        *("_", "SHLVL", "PWD", "OLDPWD", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS"),
        *("GLOBIGNORE", "POSIXLY_CORRECT"),
    }
)
"""What a shell sets for itself, or what would change how it reads commands: none of it is passed on."""


def variables(handler: Handler, ctx: Context) -> dict[str, str]:
    """What a handler finds in its environment besides the usual."""
    root = handler.project or ctx.settings.root
    found = {"CLAUDE_PROJECT_DIR": root, "PEGBOARD_PROJECT_DIR": root, "CLAUDECODE": "1"}
    return found | {"CLAUDE_CODE_SESSION_ID": ctx.session_id or state_of(ctx).id, "CLAUDE_CODE_CHILD_SESSION": "1"}


def filled_in(word: str, known: dict[str, str]) -> str:
    """A word of a command that no shell reads, with `${CLAUDE_PROJECT_DIR}` and the like replaced."""
    return MENTIONED.sub(lambda found: known.get(found[1], found[0]), word)


def new_env_file(event: str, ctx: Context) -> Path | None:
    """An empty file for the variables of one event's handlers; None where nothing may be set."""
    if event not in WRITES_ENVIRONMENT or ctx.services.files is None or ctx.agent.depth:
        return None
    file = ctx.services.files.scratch("hooks") / f"environment-{secrets.token_hex(4)}"
    file.touch(mode=0o600)
    return file


async def keep_variables(file: Path, ctx: Context) -> str:
    """Read what handlers wrote, as bash does; commands have it from now on. Returns what is wrong with it."""
    try:
        if not file.stat().st_size:  # noqa: ASYNC240 One look at a file of our own.
            return ""
        return await _learn(file, ctx)
    except (OSError, ToolError) as error:
        return f"CLAUDE_ENV_FILE could not be read: {error}"
    finally:
        file.unlink(missing_ok=True)  # noqa: ASYNC240


async def _learn(file: Path, ctx: Context) -> str:
    mark = secrets.token_hex(8)
    state = state_of(ctx)
    # `env` is not a builtin, so a changed PATH must not hide it.
    listing = f'"$e" -0; printf %s\\\\0 {mark}'
    script = f'e=$(command -v env); {listing}; set -a; . "$1" >/dev/null; set +a -- $?; "$e" -0; exit $1'
    spec = ProcessSpec(
        ("bash", "-c", script, "bash", str(file)),
        cwd=ctx.cwd,
        env=dict(state.environment),
        timeout=SECONDS,
        max_output_bytes=MAX_BYTES,
        keep_output=False,
    )
    output, errors = bytearray(), bytearray()
    ended = await ctx.processes.run(spec, on_output=output.extend, on_error=errors.extend)
    before, _, after = output.decode("utf-8", "surrogateescape").partition(f"{mark}\0")
    then = _parsed(before)
    changed = {name: value for name, value in _parsed(after).items() if then.get(name) != value}
    state.environment.update(changed)
    if ended.code == 0:
        return ""
    words = errors.decode("utf-8", "replace").strip().splitlines()
    return f"CLAUDE_ENV_FILE: bash says: {words[0] if words else f'exit code {ended.code}'}"


def _parsed(text: str) -> dict[str, str]:
    pairs = (entry.partition("=") for entry in text.split("\0") if "=" in entry)
    return {name: value for name, _, value in pairs if NAME.fullmatch(name) and name not in OF_A_SHELL}
