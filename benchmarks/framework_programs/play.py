"""Measure a framework from inside its own environment: this file and a program beside it need nothing of ours.

A program hands over `turn(tool, calls)`, which plays one whole turn: a scripted model calls the tool so often, and then
says that it is done. Printed are the CPU seconds that one more call of a trivial tool costs, and the seconds of a turn
with ten tools that take 100 ms each.
"""

import asyncio
import gc
import json
import sys
import time

CALLS = 100
NAP = 0.1
TEXT = "src/app.py"


def given():
    """The input of every call."""
    return {"path": TEXT, "offset": 10, "limit": 200}


async def noop(path: str, offset: int = 1, limit: int = 10) -> str:
    """Do nothing."""
    return path


async def nap(path: str, offset: int = 1, limit: int = 10) -> str:
    """Take a while."""
    await asyncio.sleep(NAP)
    return path


TOOLS = {"noop": noop, "nap": nap}


def measure(turn):
    """Print the numbers of a framework whose turns are coroutines."""
    asyncio.run(_measure(turn))


async def _measure(turn):
    repeats = int(sys.argv[1])
    one, many, ten = [], [], []
    for number in range(repeats + 1):
        for samples, tool, calls in ((one, "noop", 1), (many, "noop", 1 + CALLS), (ten, "nap", 10)):
            gc.collect()
            before, began = time.process_time(), time.perf_counter()
            await turn(tool, calls)
            taken = time.perf_counter() - began if tool == "nap" else time.process_time() - before
            if number:  # The first round warms caches.
                samples.append(taken)
    middle = repeats // 2
    call = (sorted(many)[middle] - sorted(one)[middle]) / CALLS
    print(json.dumps({"call": call, "ten": sorted(ten)[middle]}))
