"""Run code in an interpreter that stays alive between calls."""

from __future__ import annotations

import base64
from typing import Annotated

from pydantic import BaseModel, Field

from pegboard import Block, Context, Facts, Image, Input, Text, Tool, ToolError
from pegboard_repl.interpreters import Language

LONGEST_CODE = 1_000_000
LONGEST_SHOWN = 10_000
"""Characters of one value or one error that are shown; an error says the most at its end."""


class REPLInput(Input):
    language: Language
    """Which interpreter: python, or node for JavaScript."""
    code: str
    """The code. The value of its last expression is shown."""
    timeout: Annotated[int, Field(ge=1)] | None = None
    """Milliseconds until the code is interrupted; default 30000, at most 600000."""
    restart: bool = False
    """Start a new interpreter first. Variables and imports are gone."""
    description: str | None = None
    """What it does, in five to ten words."""


class Picture(BaseModel):
    media_type: str
    base64: str = Field(repr=False)


class REPLOutput(BaseModel):
    """What code did."""

    language: str
    result: str = ""
    """What the code showed: the value of its last expression, and what it gave to `display`."""
    stdout: str = ""
    """What it printed to output and errors, in the order in which it was written, cleaned and within the limit."""
    stderr: str = ""
    """Remarks of the tool."""
    error: str = ""
    """The exception that ended it."""
    images: list[Picture] = Field(default_factory=list)
    output_bytes: int = 0
    """How much it printed."""
    timed_out: bool = False


class REPL(Tool[REPLInput, REPLOutput]):
    """Run code in a Python or Node that stays alive: variables, imports and open files are kept between calls.

    The value of the last expression comes back, with what was printed. `display(value)` shows more values. Pictures
    (matplotlib figures, PIL images) come back as images, and data frames as tables. `await` works at the top level.
    Code that times out is interrupted and the variables stay; if it does not stop, the interpreter is restarted.
    There is no input to read. Use it to compute and to explore data; use Bash for commands, and Edit and Write for
    files.
    """

    search_hint = "python node javascript interpreter run code compute plot data"
    rule_subject = "name"
    rule_parameter = "language"
    max_result_chars = 60_000
    keeps_process = True
    """Undo asks for this: code changes files in a process that an earlier call has started."""

    def validate_input(self, args: REPLInput, /) -> str | None:
        if not args.code.strip() and not args.restart:
            return "code is empty. Give code to run, or restart: true to start a new interpreter."
        if len(args.code) > LONGEST_CODE:
            return (
                f"code has {len(args.code):,} characters; at most {LONGEST_CODE:,} are accepted. Put data into a file."
            )
        return None

    def facts(self, args: REPLInput, ctx: Context, /) -> Facts:
        # Code may do anything, whatever it looks like: nothing here ever says that it only reads.
        return Facts(reason=f"It runs {args.language} code, which may do anything.")

    async def call(self, args: REPLInput, ctx: Context, /) -> REPLOutput:
        # Only a call needs the interpreters; listing tools does not.
        from pegboard_repl.session_interpreters import SERVICE, Run
        from pegboard_repl.shown import shown

        settings = ctx.settings
        usual, longest = settings.get("repl.defaultTimeoutMs"), settings.get("repl.maxTimeoutMs")
        longest = max(usual, longest)
        remarks = []
        if args.timeout and args.timeout > longest:
            remarks.append(f"timeout was {args.timeout}; the maximum of {longest} was used.")
        if SERVICE not in ctx.services.others:
            needs = "REPL needs a session, which keeps the interpreter between calls."
            raise ToolError(f"{needs} pegboard run has one, and for single commands there is Bash.", code="unsupported")
        run = Run(args.language, args.code, min(args.timeout or usual, longest) / 1000, args.restart)
        answer, remark = await ctx.service(SERVICE).run(run, ctx)
        if remark:
            remarks.append(remark)
        if answer.timed_out:
            remarks.append(f"It timed out after {run.seconds:g} s and was interrupted. Its variables are kept.")
        return shown(run.language, answer, remarks)

    def content(self, value: REPLOutput, /) -> str | list[Block]:
        parts = [value.stdout.rstrip("\n"), value.result, value.error, value.stderr]
        text = "\n".join(part for part in parts if part) or ("" if value.images else "(no output)")
        blocks: list[Block] = [Text(text)] if text else []
        return [*blocks, *(Image(base64.b64decode(image.base64), image.media_type) for image in value.images)]

    def describe(self, args: REPLInput, /) -> str:
        first = next((line.strip() for line in args.code.splitlines() if line.strip()), "")
        text = "".join(sign if sign.isprintable() else "\ufffd" for sign in first)
        how = f"Restart {args.language} and run" if args.restart else f"Run {args.language}"
        more = " …" if len(args.code.strip().splitlines()) > 1 else ""
        return f"{how}: {text}{more}" if first else f"Restart {args.language}"

    def render_use(self, args: REPLInput, /) -> object | None:
        try:
            from rich.syntax import Syntax  # Only a terminal needs it, and not every host has it.
        except ImportError:
            return None
        language = "javascript" if args.language == "node" else "python"
        return Syntax(args.code, language, background_color="default", word_wrap=True)

    def render_result(self, value: REPLOutput, /) -> object | None:
        try:
            from rich.text import Text as Plain  # Only a terminal needs it, and not every host has it.
        except ImportError:
            return None
        parts = [value.stdout.rstrip("\n"), value.result, value.error, value.stderr]
        pictures = [f"(image, {image.media_type})" for image in value.images]
        return Plain("\n".join(part for part in (*parts, *pictures) if part) or "(no output)")
