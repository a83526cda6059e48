"""Each line marked with E must be refused by both type checkers."""

from pathlib import Path

from pegboard import Context, Decision, Facts, Input, Tool, ToolError, tool


class A(Input):
    path: Path


class B(Input):
    path: Path


def facts(args: A, ctx: Context) -> Facts:
    return Facts()


def ask(args: A, ctx: Context) -> Decision | None:
    return None


@tool(facts=facts)  # E facts of another input
def w1(args: B, ctx: Context) -> str:
    return ""


@tool(permission=ask)  # E permission of another input
async def w2(args: B, ctx: Context) -> str:
    return ""


@tool()  # E not an Input
def w3(args: int, ctx: Context) -> str:
    return ""


@tool()  # E no context
def w4(args: A) -> str:
    return ""


@tool(readonly=True)  # E misspelt
def w5(args: A, ctx: Context) -> str:
    return ""


@tool(read_only="yes")  # E not a boolean
def w6(args: A, ctx: Context) -> str:
    return ""


class W7(Tool[A, str]):
    def call(self, args: B, ctx: Context, /) -> str:  # E another input
        return ""


class W8(Tool[A, str]):
    def call(self, args: A, ctx: Context, /) -> int:  # E another output
        return 1


class W9(Tool[A, str]):
    async def call(self, args: A, ctx: Context, /) -> int:  # E another output, awaited
        return 1


class W10(Tool[A, str]):
    def call(self, args: A, ctx: Context, /) -> str:
        return ""

    def facts(self, args: B, ctx: Context, /) -> Facts:  # E facts of another input
        return Facts()


class W11(Tool[A, str]):
    name = 3  # E not a name

    def call(self, args: A, ctx: Context, /) -> str:
        return ""


raise ToolError("no", kode="stale")  # E misspelt
