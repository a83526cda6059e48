"""`pegboard build`: a bundle with only the chosen tools in it, and the choice fixed."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegboard_authors.exit_codes import OK, USAGE, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_authors.bundle_contents import Choice

# Imports happen inside functions: --help must not load packaging libraries.

EXAMPLES = """\
examples:
  pegboard build --families files,search -o pegboard.pyz
  pegboard build --families files --without Write -o readers.pyz
  pegboard build --families files --settings guards.json -o guarded.pyz
  pegboard build --families files,web --without providers -o wheels --format wheelhouse

The bundle is built from what is installed here, without network access. The same inputs give the same bytes.
Installed policies and providers are included unless you exclude them with --without.
"""


def run(words: Sequence[str]) -> int:
    """The command."""
    given = _parser().parse_args(words)
    # Imported here because reading metadata takes longer than --help should.
    from pegboard_authors.bundle_contents import choose

    try:
        settings = _settings(given.settings) if given.settings else {}
        choice = choose(_split(given.families), _split(*given.without), _split(*given.extra), settings)
        output = Path(given.output)
        _refuse_to_overwrite(output, given.format)
        make(choice, output, given.format)
    except UsageError as error:
        sys.stderr.write(f"pegboard build: {error}\n")
        return USAGE
    _say(choice, output, given.format)
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "pegboard build",
        description="Build a bundle that contains only the tools you choose. The choice cannot be changed later.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--families", required=True, metavar="A,B", help="the families of tools to include")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="C",
        help="leave out this family, plugin, distribution or tool",
    )
    parser.add_argument(
        "--with",
        action="append",
        default=[],
        dest="extra",
        metavar="DIST",
        help="also include this distribution, such as a command",
    )
    parser.add_argument(
        "--settings", metavar="FILE", help="settings to fix in the bundle; they override managed settings"
    )
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="the file or folder to write")
    parser.add_argument(
        "--format",
        choices=("shiv", "wheelhouse"),
        default="shiv",
        help="one executable file, or a folder of wheels for pip",
    )
    return parser


def _split(*lists: str) -> list[str]:
    return [word.strip() for text in lists for word in text.split(",") if word.strip()]


def _settings(file: str) -> dict[str, Any]:
    from pegboard import SettingsError
    from pegboard.settings import parse

    try:
        return parse(Path(file).read_bytes(), file)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
    except SettingsError as error:
        raise UsageError(str(error)) from None


def _refuse_to_overwrite(output: Path, kind: str) -> None:
    if kind == "wheelhouse" and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(
            f"{output} already exists and is not an empty folder. Choose another "
            "folder, so that its wheels do not mix with others."
        )
    if kind == "shiv" and output.is_dir():
        raise UsageError(f"{output} is a folder. Give the name of a file, such as pegboard.pyz.")
    if output.exists() and not output.is_file() and not output.is_dir():
        raise UsageError(f"{output} is neither a file nor a folder.")
    if not output.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {output.absolute().parent}.")
    _try_to_write(output)


def _try_to_write(output: Path) -> None:
    """Refuse now what could not be written after a long build."""
    beside = _beside(output)
    try:
        beside.touch()
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror or error}.") from None
    beside.unlink()


def make(choice: Choice, output: Path, kind: str) -> None:
    """Write the bundle; a failure leaves nothing behind."""
    from pegboard_authors.baked import features_wheel
    from pegboard_authors.bundles import require_shiv, unpack, write_requirements, write_shiv
    from pegboard_authors.wheels import wheel_of

    if kind == "shiv":
        require_shiv()
    with tempfile.TemporaryDirectory(prefix="pegboard-build-") as folder:
        house, site = Path(folder, "wheels"), Path(folder, "site")
        house.mkdir()
        # Wheels that are only unpacked again need not be small.
        compression = zipfile.ZIP_DEFLATED if kind == "wheelhouse" else zipfile.ZIP_STORED
        wheels = [wheel_of(dist, house, compression) for dist in choice.distributions]
        wheels.append(features_wheel(choice, house))
        if kind == "wheelhouse":
            write_requirements(wheels, house)
            _put(house, output)
            return
        unpack(sorted(wheels), site)
        made = Path(folder, "bundle.pyz")
        write_shiv(site, made)
        _put(made, output)


def _put(made: Path, output: Path) -> None:
    """Copy it next to its target and rename it, so that a reader sees all of it or nothing."""
    beside = _beside(output)
    try:
        shutil.copytree(made, beside) if made.is_dir() else shutil.copy2(made, beside)
        beside.replace(output)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True) if beside.is_dir() else beside.unlink(missing_ok=True)


def _beside(output: Path) -> Path:
    return output.with_name(f".{output.name}.{os.getpid()}")


def _say(choice: Choice, output: Path, kind: str) -> None:
    plugins = ", ".join(sorted(plugin["entry"] for plugin in choice.plugins))
    sys.stdout.write(f"{output}: {plugins}; {len(choice.distributions)} distributions, dependencies included.\n")
    if choice.left_out:
        sys.stdout.write(f"Installed but left out: {', '.join(choice.left_out)}.\n")
    if kind == "shiv":
        sys.stdout.write(f"Try it: {output.absolute()} features\n")
    else:
        sys.stdout.write(f"Install it: pip install --no-index --find-links {output} -r {output}/requirements.txt\n")
