"""Without a provider nothing is imported, observed or recorded."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import anyio
import pegboard_telemetry
from pegboard import Board, Call, Input, tool
from pegboard_session import ReplayProvider, Session

class Nothing(Input):
    pass

@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Ping(args: Nothing, ctx) -> str:
    "Answer."
    return "pong"

async def main():
    board = Board({settings}, [], plugins=[pegboard_telemetry], tools=[Ping])
    print((await board.dispatch(Call("1", "Ping", {{}}), board.context())).text)
    call = {{"type": "tool_use", "name": "Ping", "input": {{}}}}
    provider = ReplayProvider([{{"content": [call]}}, {{"content": []}}])
    async with Session(board, provider, model="m") as session:
        await session.run("Go.")
        print("observed:", bool(session.desk.hooks.observe))

anyio.run(main)
print("imported:", "opentelemetry.trace" in sys.modules)
"""


def said(before: str = "") -> list[str]:
    code = before + CODE.format(settings="__import__('pegboard').Settings([], cwd='/')")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout.splitlines()


def test_without_a_provider_nothing_is_imported_or_observed() -> None:
    assert said() == ["pong", "observed: False", "imported: False"]


def test_the_api_alone_records_nothing() -> None:
    assert said("import opentelemetry.trace\n") == ["pong", "observed: False", "imported: True"]
