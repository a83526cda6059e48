"""Run git so that a repository's own configuration cannot execute anything."""

from __future__ import annotations

import re
from pathlib import Path

from pegboard import Context, ProcessSpec

SECONDS = 120.0
VARIABLES = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"),
    *("GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS", "GIT_PREFIX"),
)
"""What a git that started this host may have left in the environment; it would point at another repository."""

OVERRIDES = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.askPass": "false",
    "credential.helper": "",
    "diff.external": "",
    "submodule.recurse": "false",
    "protocol.allow": "never",
}
DRIVERS = re.compile(r"filter\.(.+)\.(clean|smudge|process|required)", re.DOTALL)


class Git:
    """Git in one folder, through the host's processes."""

    def __init__(
        self, ctx: Context, folder: Path, writable: tuple[Path, ...] = (), opens: tuple[Path, ...] = ()
    ) -> None:
        self._ctx, self._folder, self._writable, self._opens = ctx, folder, writable, opens
        self._overrides = dict(OVERRIDES)

    def at(self, folder: Path) -> Git:
        """The same, in another folder."""
        other = Git(self._ctx, folder, self._writable, self._opens)
        other._overrides = self._overrides
        return other

    async def silence_filters(self) -> None:
        """Switch off the programs that a repository has set up to change files on checkout."""
        _, names, _ = await self.run("config", "--name-only", "-z", "--get-regexp", r"^filter\.")
        for name in names.split("\0"):
            if found := DRIVERS.fullmatch(name):
                self._overrides[name] = "false" if found[2] == "required" else ""

    async def run(self, *words: str) -> tuple[int, str, str]:
        """The exit code, the output and the errors."""
        output, errors = bytearray(), bytearray()
        env = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
        env["GIT_CONFIG_COUNT"] = str(len(self._overrides))
        for number, (key, value) in enumerate(self._overrides.items()):
            env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        unset = [word for name in VARIABLES for word in ("-u", name)]
        spec = ProcessSpec(
            argv=("env", *unset, "git", *words),
            cwd=self._folder,
            env=env,
            writable=(self._folder, *self._writable),
            opens=self._opens,
            network=False,
            timeout=SECONDS,
            keep_output=False,
        )
        ended = await self._ctx.processes.run(spec, on_output=output.extend, on_error=errors.extend)
        code = ended.code if ended.code is not None else -1
        return code, output.decode("utf-8", "surrogateescape"), errors.decode("utf-8", "replace").strip()
