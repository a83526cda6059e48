"""Find the command, run it, and turn every failure into one or two sentences and an exit code."""

from __future__ import annotations

import errno
import os
import sys

from pegboard import DefinitionError, PegboardError, PluginError, ProviderError, SettingsError
from pegboard.hosting import is_here

# Imports happen inside functions: a listing and --help must not load what only other commands need.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OK, FAILED, USAGE, DENIED, ASKS, PROVIDER, INTERRUPTED, READER_GONE = 0, 1, 2, 3, 4, 5, 130, 141

COMMANDS = {
    "demo": "play a recorded session, no API key needed",
    "run": "run a prompt with a model that can use the tools",
    "tools": "list the tools, and why others are missing",
    "call": "call a tool through the full pipeline",
    "why": "explain the permission decision for a call",
    "trust": "trust a project's settings to allow calls and run hooks",
    "plugins": "installed plugins and their state",
    "features": "tool families: on or off, and which setting decides",
    "settings": "effective settings and where each comes from",
    "sessions": "transcripts of earlier sessions",
    "prompt": "what a model would be told, part by part",
    "doctor": "check this environment for problems",
    "completion": "shell completion for bash, zsh or fish",
}


WITH_A_BOARD = ("call", "run", "demo", "why", "doctor", "prompt")
"""Commands that run plugins, which may fail in many ways and write to the log."""

QUICK = (["tools"], ["__complete"], ["--help"], ["--version"])
"""Commands that leave nothing behind: what signals do by default is right for them, and saves them 3 ms."""

ACTING = ("call", "run", "demo")
"""Commands that begin by removing what killed hosts have left."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `pegboard`. Returns the exit code."""
    if argv is not None:
        return _main(list(argv))
    words = sys.argv[1:]
    _look_for_garbage_less_often()
    try:
        return _main(words) if words[:1] in QUICK else _stoppable(words)
    finally:
        _leave_quickly()


def _stoppable(words: list[str]) -> int:
    """Run a command that may have something to undo or to tell when a signal ends it."""
    from pegboard_cli import signals

    try:
        _speak_utf8()
        signals.install()
        return _main(words)
    except signals.Stopped as stopped:
        return stopped.code
    finally:
        signals.close()


def _look_for_garbage_less_often() -> None:
    """Imports make objects that stay: to look for garbage after every 700 of them costs 3 % of the start."""
    import gc

    gc.set_threshold(10_000)


def _leave_quickly() -> None:
    """Let the interpreter end without looking for garbage, which takes 130 ms of the 150 that it needs to end.

    What is reachable is still taken apart: exit functions run, and files that were left open are written and closed.
    """
    import gc

    gc.freeze()
    gc.disable()


def _main(words: list[str]) -> int:
    _leave_the_working_directory()
    _mend_streams()
    debug = "--debug" in words or os.environ.get("PEGBOARD_DEBUG") == "1"
    words = [word for word in words if word != "--debug"]
    if not debug and words and words[0] in WITH_A_BOARD:
        from pegboard_cli.logs import keep_short

        keep_short()
    try:
        if words and words[0] in ACTING:
            from pegboard_hosts import tidy_up

            tidy_up()
        code = _run(words)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stopped:
        return getattr(stopped, "code", INTERRUPTED)
    except BrokenPipeError:
        _discard_output()
        return OK
    except (SettingsError, PluginError, DefinitionError) as error:
        return _complain(error, USAGE, debug)
    except ProviderError as error:
        return _complain(error, PROVIDER, debug)
    except PegboardError as error:
        return _complain(error, FAILED, debug)
    except OSError as error:
        is_output = error.errno == errno.ENOSPC and not error.filename  # files that cannot be written have names
        said = f"The output cannot be written: {error.strerror}." if is_output else ""
        if is_output:
            _discard_output()
        return _complain(error, FAILED, debug, said)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}. This is a bug; run with --debug for the traceback."
        return _complain(error, FAILED, debug, reason)


def _run(words: list[str]) -> int:
    name = words[0] if words else "--help"
    if name in ("-h", "--help", "help"):
        from pegboard_cli.help import show_help

        return show_help()
    if name in ("-V", "--version"):
        from pegboard_cli.help import show_version

        return show_version()
    if name in ("-p", "--print"):
        name, words = "run", ["run", *words]
    if name in COMMANDS:
        module = __import__(f"pegboard_cli.{name}_command", fromlist=["run"])
        return int(module.run(words[1:]))
    if name == "__complete":
        from pegboard_cli.completion_command import complete

        return complete(words[1:])
    from pegboard_cli.help import run_foreign

    return run_foreign(name, words[1:])


def _speak_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale cannot spell every file name."""
    if sys.getfilesystemencoding().lower() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 -- ourselves


def _leave_the_working_directory() -> None:
    """Under `python -m` the current folder is on the path; nothing in it may pose as one of our modules."""
    sys.path[:] = [place for place in sys.path if not is_here(place)]


def _mend_streams() -> None:
    """Started without standard streams, or with ones that cannot spell everything, a command must still do its work."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process
        elif name == "stdout" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """What is still buffered cannot be written. The interpreter would try again at exit, and exit with 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(error: BaseException, code: int, debug: bool, words: str = "") -> int:
    if debug:
        import traceback

        traceback.print_exception(error)
    from pegboard_cli.output import visible

    try:
        sys.stderr.write(f"pegboard: {visible(words or str(error))}\n")
    except OSError:
        pass  # The terminal is gone: the exit code has to say it.
    return code
