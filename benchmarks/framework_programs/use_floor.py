"""The floor: validate the input with pydantic and await the function; ten of them at once."""

import asyncio

from play import TOOLS, given, measure
from pydantic import BaseModel


class ToolInput(BaseModel):
    path: str
    offset: int = 1
    limit: int = 10


async def turn(tool, calls):
    function = TOOLS[tool]
    parsed = [ToolInput.model_validate(given()) for _ in range(calls)]
    if tool == "noop":
        for one in parsed:
            await function(**dict(one))
    else:
        await asyncio.gather(*(function(**dict(one)) for one in parsed))


measure(turn)
