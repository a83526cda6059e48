"""Find the command, run it, turn every failure into one or two sentences and an exit code."""

from __future__ import annotations

import os
import sys

from pegboard.errors import DefinitionError, PegboardError, PluginError, ProviderError, SettingsError
from pegboard.plugins.index import is_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OK, FAILED, USAGE, DENIED, ASKS, PROVIDER, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

COMMANDS = {
    "demo": "see it work: a recorded session, no key needed",
    "run": "ask a model that can use the tools",
    "tools": "the tools on the board, and why others are absent",
    "call": "call one tool through the whole pipeline",
    "why": "what would be decided about a call, and why",
    "trust": "let a project's settings loosen and run things",
    "plugins": "installed plugins, their state and the reason",
    "features": "tool families: on or off, and who said so",
    "settings": "effective settings and where each comes from",
    "sessions": "transcripts of earlier sessions",
    "doctor": "look for problems in this environment",
    "completion": "shell completion for bash, zsh or fish",
}


WITH_A_BOARD = ("call", "run", "demo", "why", "doctor")
"""Commands that run plugins, which may fail in many ways and write to the log."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `pegboard`. Returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _leave_the_working_directory()
    _mend_streams()
    debug = "--debug" in words or os.environ.get("PEGBOARD_DEBUG") == "1"
    words = [word for word in words if word != "--debug"]
    if not debug and words and words[0] in WITH_A_BOARD:
        from pegboard_cli.logs import keep_short

        keep_short()
    try:
        return _run(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Or the interpreter complains on its way out.
        return OK
    except (SettingsError, PluginError, DefinitionError) as error:
        return _complain(error, USAGE, debug)
    except ProviderError as error:
        return _complain(error, PROVIDER, debug)
    except PegboardError as error:
        return _complain(error, FAILED, debug)
    except OSError as error:
        return _complain(error, FAILED, debug)
    except Exception as error:
        return _complain(error, FAILED, debug, f"{type(error).__name__}: {error}. This is a bug; --debug shows where.")


def _run(words: list[str]) -> int:
    name = words[0] if words else "--help"
    if name in ("-h", "--help", "help"):
        from pegboard_cli.help import show_help

        return show_help()
    if name in ("-V", "--version"):
        from pegboard_cli.help import show_version

        return show_version()
    if name in COMMANDS:
        module = __import__(f"pegboard_cli.{name}_command", fromlist=["run"])
        return int(module.run(words[1:]))
    if name == "__complete":
        from pegboard_cli.completion_command import complete

        return complete(words[1:])
    from pegboard_cli.help import run_foreign

    return run_foreign(name, words[1:])


def _leave_the_working_directory() -> None:
    """Under `python -m` the folder one stands in is on the path; nothing in it may pose as one of our modules."""
    sys.path[:] = [place for place in sys.path if not is_here(place)]


def _mend_streams() -> None:
    """Started without standard streams, or with ones that cannot spell everything, a command must still do its work."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process
        elif name == "stdout" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _complain(error: BaseException, code: int, debug: bool, words: str = "") -> int:
    if debug:
        import traceback

        traceback.print_exception(error)
    from pegboard_cli.output import visible

    sys.stderr.write(f"pegboard: {visible(words or str(error))}\n")
    return code
