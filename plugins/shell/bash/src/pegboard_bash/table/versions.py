"""Programs that tell their version without reading a file of the project first.

Left out on purpose: those whose version a project file chooses or whose start runs the project's code, such as yarn,
pnpm, cargo, rustc, go, gradle, bundle, poetry, terraform, flake8, pylint, ctags, valgrind, ansible and elixir; and
gcloud, which writes its configuration.
"""

from __future__ import annotations

from pegboard_bash.programs import Program


def _only(*options: str) -> Program:
    """A program of which only these words, one at a time, are known."""
    return Program(subcommands={option: Program("") for option in options})


PROGRAMS = {
    "python python2 python3 pypy3": Program(
        subcommands={option: Program("") for option in ("--version", "-V", "-VV")},
        reads=("python3 --version",),
        asks=("python3 x.py", "python3 -c 1", "python3 --version x", "python3 -m json.tool x"),
    ),
    **{
        f"python3.{minor}": Program(subcommands={option: Program("") for option in ("--version", "-V")})
        for minor in range(7, 20)
    },
    "node nodejs": Program(
        subcommands={option: Program("") for option in ("--version", "-v")},
        asks=("node -p 1", "node -e 1", "NODE_OPTIONS=x node -v"),
    ),
    "npm npx": _only("--version", "-v"),
    "ruby perl php lua": _only("--version", "-v"),
    "java javac": _only("-version", "--version"),
    "gcc g++ cc c++ clang clang++": _only("--version", "-v", "-dumpversion", "-dumpmachine"),
    "ssh tmux": _only("-V"),
    "openssl": Program(subcommands={"version": Program("-abdefoprv")}, asks=("openssl enc -in x", "openssl version x")),
    "bun tsc": _only("--version", "-v"),
    "nginx redis-cli redis-server": _only("-v", "--version"),
    "screen": _only("-v", "--version"),
    "make gmake": _only("--version", "-v"),
    "sqlite3": _only("--version", "-version"),
    "helm": Program(subcommands={"version": Program("--short --client")}),
    "ffmpeg convert magick": _only("-version"),
    "Rscript R julia ghc swift ld as cmake ninja meson autoconf automake m4 gdb lldb": _only("--version"),
    "gpg gpg2 less more ldd aws pre-commit info pipx virtualenv hyperfine "
    "shellcheck shfmt sshd fzf zoxide tokei hadolint actionlint ccache gold lld": _only("--version"),
    "vim nvim nano emacs rsync uv ruff black mypy deno psql mysql pandoc protoc zip xz zstd": _only("--version"),
}
