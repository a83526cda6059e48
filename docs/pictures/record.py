"""Record `pegboard demo` on a real pseudo-terminal as demo.svg: `python docs/pictures/record.py`.

Each line appears in the picture when it last changed on the screen, so the picture plays with the timing of the run.
"""

import os
import pty
import re
import select
import struct
import subprocess
import sys
import time
from fcntl import ioctl
from html import escape
from pathlib import Path
from termios import TIOCSWINSZ

HERE = Path(__file__).parent
COLUMNS, ROWS = 100, 200
CELL, LINE, MARGIN = 8.4, 19, 14
PAUSE = 4
"""Seconds that the last screen stands before the picture plays again."""

COLOURS = {
    **{30 + n: c for n, c in enumerate(("#6b7280", "#f87171", "#4ade80", "#facc15", "#60a5fa", "#c084fc", "#22d3ee"))},
    **{90 + n: c for n, c in enumerate(("#6b7280", "#f87171", "#4ade80", "#facc15", "#60a5fa", "#c084fc", "#22d3ee"))},
}
TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b.|\r|\n|[^\x1b\r\n]")


class Screen:
    """The few things a terminal must know for a program that prints lines, moves up and erases lines."""

    def __init__(self):
        self.lines, self.changed = [[]], [0.0]
        self.row = self.column = 0
        self.style = ("", False)

    def feed(self, text, now):
        """Take what the program wrote at this moment."""
        for token in TOKEN.finditer(text):
            numbers, command = token.group(1), token.group(2)
            if command == "m":
                self._set_style(numbers)
            elif command == "K":
                self._touch(now)[:] = []
            elif command == "A":
                self.row = max(0, self.row - int(numbers or 1))
            elif token.group() == "\r":
                self.column = 0
            elif token.group() == "\n":
                self._next_line(now)
            elif command is None and not token.group().startswith("\x1b"):
                self._put(token.group(), now)

    def _touch(self, now):
        self.changed[self.row] = now
        return self.lines[self.row]

    def _next_line(self, now):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])
            self.changed.append(now)

    def _put(self, character, now):
        line = self._touch(now)
        line += [(" ", ("", False))] * (self.column + 1 - len(line))
        line[self.column] = (character, self.style)
        self.column += 1

    def _set_style(self, numbers):
        colour, dim = self.style
        for number in map(int, (numbers or "0").split(";")):
            if number == 0:
                colour, dim = "", False
            elif number == 2:
                dim = True
            else:
                colour = COLOURS.get(number, colour)
        self.style = (colour, dim)


def record(command, env):
    """The screen after the command has run on a terminal of its own."""
    master, slave = pty.openpty()
    ioctl(slave, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env, close_fds=True)
    os.close(slave)
    screen, began, rest = Screen(), time.monotonic(), b""
    while True:
        select.select([master], [], [])
        try:
            data = os.read(master, 65536)
        except OSError:  # The program has ended and its terminal with it.
            break
        text, rest = _whole(rest + data)
        screen.feed(text, time.monotonic() - began)
    os.close(master)
    if process.wait():
        raise SystemExit(f"{command} failed with exit code {process.returncode}.")
    return screen


def _whole(data):
    for cut in range(min(4, len(data) + 1)):
        try:
            return data[: len(data) - cut].decode(), data[len(data) - cut :]
        except UnicodeDecodeError:
            continue
    return data.decode(errors="replace"), b""


def draw(screen, title):
    """The recording as an SVG that plays by itself."""
    lines = [(line, when) for line, when in zip(screen.lines, screen.changed, strict=True)]
    while lines and not lines[-1][0]:
        lines.pop()
    total = max(when for _, when in lines) + PAUSE
    width, height = COLUMNS * CELL + 2 * MARGIN, (len(lines) + 1) * LINE + 2 * MARGIN
    parts = [_typed(title, 0, total)]
    parts += [_line(line, number + 1, when, total) for number, (line, when) in enumerate(lines) if line]
    style = "text { font: 14px ui-monospace, monospace; fill: #e5e7eb; white-space: pre } .dim { opacity: .6 }"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img">',
            f"<title>{escape(title)}</title><style>{style}</style>",
            '<rect width="100%" height="100%" rx="8" fill="#111827"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _typed(title, when, total):
    return _line([(character, ("", False)) for character in f"$ {title}"], 0, when, total)


def _line(line, row, when, total):
    spans, y = [], MARGIN + (row + 1) * LINE - 5
    for text, (colour, dim) in _runs(line):
        fill = f' fill="{colour}"' if colour else ""
        faint = ' class="dim"' if dim else ""
        spans.append(f"<tspan{fill}{faint}>{escape(text)}</tspan>")
    start = f"{when / total:.4f}"
    play = (
        f'<animate attributeName="visibility" values="hidden;visible" keyTimes="0;{start}" calcMode="discrete" '
        f'dur="{total:.1f}s" repeatCount="indefinite"/>'
        if when
        else ""
    )
    return f'<text x="{MARGIN}" y="{y}" xml:space="preserve">{"".join(spans)}{play}</text>'


def _runs(line):
    runs = []
    for character, style in line:
        if runs and runs[-1][1] == style:
            runs[-1][0] += character
        else:
            runs.append([character, style])
    return runs


def main():
    """Record the demo."""
    env = {**os.environ, "TERM": "xterm", "COLUMNS": str(COLUMNS)}
    for name in ("NO_COLOR", "COLORTERM"):  # Sixteen colours are what this terminal knows.
        env.pop(name, None)
    screen = record([Path(sys.executable).parent / "pegboard", "demo"], env)
    (HERE / "demo.svg").write_text(draw(screen, "pegboard demo"))


if __name__ == "__main__":
    main()
