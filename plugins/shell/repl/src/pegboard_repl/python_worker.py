"""Runs inside the Python of the REPL, as `python -c`: takes code on one descriptor and answers on another.

It needs only the standard library of Python 3.8 or later, because the project's interpreter may be any of these.
Descriptors: 3 takes the answers, 4 brings the requests, 5 is the output. Code gets the output as 1 and 2.
"""

from __future__ import annotations

import ast
import asyncio
import base64
import builtins
import inspect
import io
import json
import linecache
import os
import queue
import signal
import sys
import threading
import time
import traceback
import types
from typing import Any

ANSWERS, REQUESTS, OUTPUT = 3, 4, 5
LONGEST_TEXT = 200_000
MOST_PICTURES, LARGEST_PICTURE, ALL_PICTURES = 10, 5_000_000, 20_000_000
FLAGS = getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)
PATIENCE = 1.0


class Display:
    """What one run shows besides its output: texts, tables and pictures."""

    def __init__(self) -> None:
        self.pieces: list[dict[str, str]] = []
        self._pictures = self._bytes = 0

    def show(self, value: Any) -> None:
        """Add a value in the richest form it offers."""
        bundle = _answer_of(value, "_repr_mimebundle_")
        bundle = bundle[0] if isinstance(bundle, tuple) else bundle
        offered = bundle if isinstance(bundle, dict) else {}
        for kind, method in (("image/png", "_repr_png_"), ("image/jpeg", "_repr_jpeg_")):
            data = offered.get(kind) or _answer_of(value, method)
            if data:
                self.picture(kind, data[0] if isinstance(data, tuple) else data)
                return
        if _is_figure(value):
            self.figure(value)
            return
        for kind, method in (("text/markdown", "_repr_markdown_"), ("text/html", "_repr_html_")):
            text = offered.get(kind) or _answer_of(value, method)
            # A table in HTML is for the host to read; whatever else HTML may be, the plain form says it shorter.
            if isinstance(text, str) and (kind == "text/markdown" or "<table" in text):
                self.text(kind, text, repr(value))
                return
        plain = offered.get("text/plain")
        self.text("text/plain", plain if isinstance(plain, str) else repr(value))

    def show_all(self, *values: Any) -> None:
        """What code calls as `display`."""
        for value in values:
            self.show(value)

    def text(self, kind: str, text: str, plain: str = "") -> None:
        """Add a text; of one that is too long the beginning."""
        if len(text) > LONGEST_TEXT and kind != "text/plain":
            kind, text = "text/plain", plain
        cut = text[:LONGEST_TEXT]
        if len(text) > len(cut):
            cut += f"\n[... {len(text) - len(cut):,} of {len(text):,} characters omitted ...]"
        self.pieces.append({"kind": kind, "data": cut})

    def picture(self, kind: str, data: Any) -> None:
        """Add a picture, if there is still room for it."""
        raw = base64.b64decode(data) if isinstance(data, str) else bytes(data)
        self._pictures += 1
        self._bytes += len(raw)
        if self._pictures > MOST_PICTURES or len(raw) > LARGEST_PICTURE or self._bytes > ALL_PICTURES:
            self.text("text/plain", f"(A picture of {len(raw):,} bytes was left out.)")
            return
        self.pieces.append({"kind": kind, "data": base64.b64encode(raw).decode()})

    def figure(self, figure: Any) -> None:
        """Add a figure of matplotlib, which has no form of its own outside a notebook."""
        file = io.BytesIO()
        figure.savefig(file, format="png")
        self.picture("image/png", file.getvalue())
        plots: Any = sys.modules.get("matplotlib.pyplot")
        if plots is not None:
            plots.close(figure)

    def open_figures(self) -> None:
        """Add the figures that the code has drawn and not shown."""
        plots: Any = sys.modules.get("matplotlib.pyplot")
        for number in plots.get_fignums() if plots is not None else ():
            self.figure(plots.figure(number))


def _answer_of(value: Any, method: str) -> Any:
    """What a method for rich display answers; a class and a broken method have nothing to show."""
    if isinstance(value, type):
        return None
    try:
        ask = getattr(value, method, None)
        return ask() if callable(ask) else None
    except Exception:
        return None


def _is_figure(value: Any) -> bool:
    figures: Any = sys.modules.get("matplotlib.figure")
    return figures is not None and isinstance(value, figures.Figure)


class Worker:
    """Runs one piece of code after the other in one namespace."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._running = self._stopped = ""
        self._count = 0
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        module = types.ModuleType("__main__")
        # Pickle and multiprocessing look for what code defines in the module __main__.
        sys.modules["__main__"] = module
        self._names = module.__dict__
        self._names["__builtins__"] = builtins
        sys.stdin = open(os.devnull)  # noqa: SIM115
        sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        for number in (ANSWERS, REQUESTS, OUTPUT):
            os.set_inheritable(number, False)
        os.register_at_fork(after_in_child=self._leave_channel)

    def serve(self) -> None:
        """Run what is asked until the host closes the channel."""
        signal.signal(signal.SIGINT, self._interrupted)
        threading.Thread(target=self._read, daemon=True).start()
        while True:
            request = self._requests.get()
            if request is None:
                return
            _write(ANSWERS, _line(request["token"]))
            answer = self._run(request["run"], request["token"])
            if os.getpid() != self._pid:
                os._exit(0)  # A copy that the code has made by fork and that came back here.
            self._answer(request["token"], answer)

    def _read(self) -> None:
        with open(REQUESTS, "rb", closefd=False) as lines:
            for line in lines:
                request = json.loads(line)
                if "interrupt" not in request:
                    self._requests.put(request)
                    continue
                self._stopped = request["interrupt"]
                if self._running == self._stopped:
                    # To the main thread itself: only so does the signal end what it waits for.
                    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        self._requests.put(None)
        time.sleep(PATIENCE)
        os._exit(0)

    def _interrupted(self, *_: Any) -> None:
        if self._running:
            raise KeyboardInterrupt

    def _leave_channel(self) -> None:
        for number in (ANSWERS, REQUESTS, OUTPUT):
            try:
                os.close(number)
            except OSError:
                pass

    def _run(self, code: str, token: str) -> dict[str, Any]:
        os.dup2(OUTPUT, 1)
        os.dup2(OUTPUT, 2)
        signal.signal(signal.SIGINT, self._interrupted)
        shown, error = Display(), ""
        self._names["display"] = shown.show_all
        try:
            self._running = token
            try:
                if self._stopped == token:  # It was stopped before it began.
                    raise KeyboardInterrupt
                value = self._execute(code)
                if value is not None:
                    self._names["_"] = value
                    shown.show(value)
                shown.open_figures()
            finally:
                self._running = ""
        except BaseException as raised:
            error = _described(raised)
        return {"pieces": shown.pieces, "error": error[-LONGEST_TEXT:]}

    def _execute(self, code: str) -> Any:
        """Run the code; the value of its last line where that is an expression."""
        self._count += 1
        name = f"<repl {self._count}>"
        # Without an entry here no traceback could show the line.
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        tree = ast.parse(code, name)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        if tree.body:
            self._finish(compile(tree, name, "exec", FLAGS, dont_inherit=True))
        if not isinstance(last, ast.Expr):
            return None
        return self._finish(compile(ast.Expression(last.value), name, "eval", FLAGS, dont_inherit=True))

    def _finish(self, code: types.CodeType) -> Any:
        value = eval(code, self._names)  # noqa: S307 - running code is what it is for
        if not code.co_flags & inspect.CO_COROUTINE:
            return value
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(value)

    def _answer(self, token: str, answer: dict[str, Any]) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass
        # The end of the output of this run, in its own place: the answer comes another way and may be earlier.
        _write(OUTPUT, b"\0" + token.encode() + b"\0")
        _write(ANSWERS, _line(token, **answer))


def _line(token: str, **said: Any) -> bytes:
    return json.dumps({"token": token, **said}).encode() + b"\n"


def _write(number: int, data: bytes) -> None:
    while data:
        data = data[os.write(number, data) :]


def _described(raised: BaseException) -> str:
    if isinstance(raised, SystemExit):
        return f"SystemExit: {raised.code}"
    trace = raised.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == _OWN:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(raised), raised, trace)).rstrip("\n")


_OWN = Worker.serve.__code__.co_filename

if __name__ == "__main__":
    Worker().serve()
