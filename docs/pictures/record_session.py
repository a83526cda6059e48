"""Record a session of five minutes as session.svg: `python docs/pictures/record_session.py`.

A person types at a real pseudo-terminal; the model is played, everything else is real. Each line of the screen is in
the picture for as long as it stood there, so the picture plays like the session, twenty times as fast.
"""

import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import termios
import time
from html import escape
from pathlib import Path

import pyte
from record import CELL, HERE, LINE, MARGIN, _runs

COLUMNS, ROWS = 90, 40
MINUTES = 5
FASTER = 20
PATIENCE = 30
"""Seconds after which the person goes on, whatever the screen shows."""
SAMPLE = 1.0
"""Seconds between two looks at the screen."""
COLOURS = {
    "red": "#f87171",
    "green": "#4ade80",
    "brown": "#facc15",
    "yellow": "#facc15",
    "blue": "#60a5fa",
    "magenta": "#c084fc",
    "cyan": "#22d3ee",
    "brightblack": "#9ca3af",
    "brightblue": "#60a5fa",
    "brightgreen": "#4ade80",
    "brightcyan": "#22d3ee",
    "brightmagenta": "#c084fc",
}
CODE = '"""Numbers."""\n\n\ndef double(number):\n    return 2 * number\n'
TEST = "from numbers_here import double, triple\n\nassert double(2) == 4\nassert triple(2) == 6\nprint('ok')\n"
TABLE = """\
This is a small project of **two files**:

| file | what it holds |
|---|---|
| `README.md` | what the project is for |
| `numbers_here.py` | the function `double` |

```python
from numbers_here import double

double(21)  # 42
```
Ask me to extend it."""


def text(words):
    """A block of text."""
    return {"type": "text", "text": words}


def call(name, **given):
    """A call of a tool."""
    return {"type": "tool_use", "name": name, "input": given}


def turn(*blocks, pause=2_500):
    """What the model says in one request."""
    return {"content": list(blocks), "chunk_ms": pause, "usage": {"input_tokens": 2_400, "output_tokens": 180}}


MODEL = [
    turn(text("Let me look around."), call("Glob", pattern="*"), call("Read", file_path="numbers_here.py")),
    turn(text(TABLE)),
    turn(
        text("I add `triple` below `double`."),
        call(
            "Edit",
            file_path="numbers_here.py",
            old_string="    return 2 * number\n",
            new_string="    return 2 * number\n\n\ndef triple(number):\n    return 3 * number\n",
        ),
    ),
    turn(text("`triple` is there. Shall I test it?"), pause=8_000),
    turn(text("A test for both:"), call("Write", file_path="test_numbers.py", content=TEST)),
    turn(call("Bash", command="python3 test_numbers.py")),
    turn(text("The test **passes**.")),
    turn(text("I watch the tests for a while."), call("Bash", command="sleep 600")),
    turn(text("Stopped. Everything that was done before is kept.")),
]


def person(terminal):
    """What the person does, and how long they read."""
    terminal.read(4)
    terminal.type("What does this project do?", 2)
    terminal.wait(lambda: not terminal.shows("Esc stops"), 14)
    terminal.type("/context", 10)
    terminal.type("Add a function that triples a number", 2)
    terminal.wait(lambda: terminal.shows("Run it? ["), 12)
    terminal.type("e", 3)
    terminal.type("and write a test for it", 4)
    terminal.wait(lambda: terminal.shows("Run it? ["), 8)
    terminal.type("s", 2)
    terminal.wait(lambda: not terminal.shows("Esc stops"), 10)
    terminal.type("/diff", 16)
    terminal.press("\x1b[Z", 4)
    terminal.press("\x1b[Z\x1b[Z", 6)
    terminal.type("Watch the tests", 12)
    terminal.type("no, that is enough", 6)
    terminal.press("\x1b", 4)
    terminal.wait(lambda: not terminal.shows("Esc stops"), 8)
    terminal.type("#run the tests after each change", 8)
    terminal.type("/cost", 14)
    terminal.type("/hlep", 8)
    terminal.type("/help", 20)
    terminal.read(max(0, MINUTES * 60 - 4 - (time.monotonic() - terminal.began)))
    terminal.type("/exit", 3)


class Terminal:
    """A command on a terminal of its own, and what stood on its screen from when to when."""

    def __init__(self, command, folder, env):
        self.leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (ROWS, COLUMNS))
        self.process = subprocess.Popen(
            command, stdin=follower, stdout=follower, stderr=follower, cwd=folder, env=env, start_new_session=True
        )
        os.close(follower)
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.began = self.looked = time.monotonic()
        self.shown = [[] for _ in range(ROWS)]
        """For each row its contents, each with the moment when it appeared."""

    def press(self, keys, seconds):
        """Press keys, and look at what comes of it."""
        os.write(self.leader, keys.encode())
        self.read(seconds)

    def type(self, line, seconds):
        """Type a line at the pace of a person."""
        for key in line:
            self.press(key, 0.08)
        self.press("\r", seconds)

    def shows(self, text):
        """Whether this is on the screen."""
        return any(text in line for line in self.screen.display)

    def wait(self, condition, seconds):
        """Wait until this holds, and then read for so long."""
        limit = time.monotonic() + PATIENCE
        while not condition() and time.monotonic() < limit:
            self.read(0.5)
        self.read(seconds)

    def read(self, seconds):
        """Take what comes within this time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.leader], [], [], min(left, SAMPLE))[0]:
                try:
                    self.stream.feed(os.read(self.leader, 65_536))
                except OSError:
                    break
            if time.monotonic() - self.looked >= SAMPLE:
                self.look()

    def look(self):
        """Keep the rows that have changed."""
        self.looked = time.monotonic()
        for row in range(ROWS):
            cells = [self.screen.buffer[row][column] for column in range(COLUMNS)]
            line = [(cell.data, (COLOURS.get(cell.fg, ""), cell.fg == "brightblack")) for cell in cells]
            while line and line[-1][0] == " ":
                line.pop()
            if not self.shown[row] or self.shown[row][-1][1] != line:
                self.shown[row].append((self.looked - self.began, line))


def draw(terminal, total):
    """The recording as an SVG that plays by itself."""
    width, height = COLUMNS * CELL + 2 * MARGIN, ROWS * LINE + 2 * MARGIN
    style = "text { font: 14px ui-monospace, monospace; fill: #e5e7eb; white-space: pre } .dim { opacity: .8 }"
    parts = []
    for row, contents in enumerate(terminal.shown):
        ends = [when for when, _ in contents[1:]] + [total]
        for (start, line), end in zip(contents, ends, strict=True):
            if line:
                parts.append(_part(line, row, (start / total, end / total), total / FASTER))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img">',
            f"<title>Five minutes with pegboard run</title><style>{style}</style>",
            '<rect width="100%" height="100%" rx="8" fill="#111827"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _part(line, row, span, seconds):
    spans = "".join(
        f"<tspan{f' fill={chr(34)}{colour}{chr(34)}' if colour else ''}>{escape(words)}</tspan>"
        for words, (colour, _) in _runs(line)
    )
    start, end = (min(max(moment, 0.0001), 0.9999) for moment in span)
    play = (
        f'<animate attributeName="visibility" values="hidden;visible;hidden" keyTimes="0;{start:.4f};{end:.4f}" '
        f'calcMode="discrete" dur="{seconds:.1f}s" repeatCount="indefinite"/>'
    )
    y = MARGIN + (row + 1) * LINE - 5
    return f'<text x="{MARGIN}" y="{y}" xml:space="preserve">{spans}{play}</text>'


def main():
    """Record the session."""
    with tempfile.TemporaryDirectory(prefix="pegboard-session-") as place:
        folder, home = Path(place, "project"), Path(place, "home")
        folder.mkdir()
        home.mkdir()
        (folder / "README.md").write_text("# Numbers\n")
        (folder / "numbers_here.py").write_text(CODE)
        (home / "model.jsonl").write_text("\n".join(map(json.dumps, MODEL)))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NO_COLOR", "PEGBOARD_"))}
        env = {**kept, "HOME": str(home), "TERM": "xterm-256color"}
        command = [Path(sys.executable).parent / "pegboard", "run", "--replay", home / "model.jsonl"]
        terminal = Terminal(command, folder, env)
        person(terminal)
        terminal.look()
        if terminal.process.wait(30):
            raise SystemExit(f"pegboard failed with exit code {terminal.process.returncode}.")
    (HERE / "session.svg").write_text(draw(terminal, time.monotonic() - terminal.began))


if __name__ == "__main__":
    main()
