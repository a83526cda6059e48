"""Package managers, as far as they list what is installed without running or fetching anything."""

from __future__ import annotations

from pegboard_bash.effects import Effects
from pegboard_bash.programs import Program
from pegboard_bash.words import Word

_PIP = Program(
    subcommands={
        "list": Program(
            "-elv --local --user --editable --exclude-editable --not-required --format= --exclude= --pre "
            "--disable-pip-version-check --no-color"
        ),
        "freeze": Program("-l --local --user --all --exclude-editable --exclude= --disable-pip-version-check"),
        "show": Program("-fv --files --verbose --disable-pip-version-check", "text*"),
        "check": Program("-q"),
        "inspect": Program("-v --local --user"),
        "debug": Program("-v"),
        "help": Program("", "text?"),
        "config": Program(
            subcommands={name: Program("--user --global --site", "text?") for name in ("list", "get", "debug")}
        ),
        "cache": Program(subcommands={name: Program("", "text?") for name in ("dir", "info", "list")}),
        "--version": Program(""),
        "-V": Program(""),
    },
    reads=("pip list --format=json", "pip show -f requests"),
    asks=("pip install x", "pip list --outdated", "pip list -o", "pip --python x list", "pip download x"),
)


def check_unzip(words: list[Word], effects: Effects) -> None:
    """Behind the archive a word with a dash is the name of a file in it, and that file is unpacked."""
    if words and not words[0].text.startswith("-"):
        effects.refuse("unzip accepts options only before the archive.")


PROGRAMS = {
    "pip pip3": _PIP,
    "dpkg": Program(
        "-lLsSpW --list --listfiles --status --search --get-selections --print-architecture --version",
        "text*",
        reads=("dpkg -l", "dpkg -S /bin/ls"),
        asks=("dpkg -i x.deb", "dpkg --configure -a"),
    ),
    "dpkg-query": Program("-lLsSW -f: --list --listfiles --status --search --show --showformat=", "text*"),
    "apt": Program(
        subcommands={
            "list": Program("-a --installed --upgradable --all-versions", "text*"),
            "show": Program("-a", "text*"),
            "policy": Program("", "text*"),
            "search": Program("-n --names-only", "text*"),
        },
        asks=("apt install x", "apt list -o x=y"),
    ),
    "apt-cache": Program(
        subcommands={
            name: Program("-n --names-only", "text*")
            for name in ("policy", "search", "show", "showpkg", "depends", "rdepends", "madison")
        }
    ),
    "apt-mark": Program(subcommands={name: Program("", "text*") for name in ("showauto", "showmanual", "showhold")}),
    "rpm": Program(
        "-qailcdfRs --query --all --info --list",
        "text*",
        only_with="-q --query",
        reads=("rpm -qa",),
        asks=(
            "rpm -qp http://example.invalid/x.rpm",
            "rpm -i x.rpm",
            "rpm --pipe x -qa",
            "rpm -qa --qf x",
            "rpm -q --eval x",
            "rpm -e x",
        ),
    ),
    "brew": Program(
        subcommands={"list": Program("-1lv --versions --cask --formula", "text*"), "--version": Program("")},
        asks=("brew install x",),
    ),
    "gem": Program(subcommands={"list": Program("-al --local --no-versions", "text*"), "--version": Program("")}),
    "conda mamba": Program(
        subcommands={
            "list": Program("-n: --json --name=", "text*"),
            "info": Program("-e --envs --json"),
            "env": Program(subcommands={"list": Program("--json")}),
            "--version": Program(""),
        },
        asks=("conda install x", "conda env create"),
    ),
    "unzip": Program(
        "-lvZtp1",
        "read text*",
        check=check_unzip,
        only_with="-l -v -Z -t -p",
        reads=("unzip -l a.zip",),
        asks=("unzip a.zip", "unzip -lo a.zip", "unzip -1 a.zip", "unzip -- -l", "unzip a.zip -l"),
    ),
}
