"""Tools, scripted models and words for the tests of a session."""

from contextlib import aclosing
from typing import Any

import anyio

from pegboard import Allow, Change, Context, Input, Output, hookimpl, tool
from pegboard_session import ReplayProvider, Request, Retries


class TextInput(Input):
    text: str = ""


@tool(read_only=True, concurrency_safe=True, open_world=False, guidance="Echo repeats.")
async def Echo(args: TextInput, ctx: Context) -> str:
    """Say it again."""
    return args.text


@tool(open_world=False)
async def Mutate(args: TextInput, ctx: Context) -> Output[str]:
    """Change something."""
    return Output(f"changed {args.text}", change=Change(mode="plan"), messages=["A remark."])


class AnythingInput(Input):
    text: Any = ""


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Anything(args: AnythingInput, ctx: Context) -> str:
    """Take whatever comes."""
    return repr(args.text)


class Watching:
    def __init__(self):
        self.events = []

    @hookimpl
    def observe(self, event):
        self.events.append((event.kind, {key: value for key, value in event.data.items() if key != "session"}))

    @hookimpl
    def ask_user(self):
        return Allow("yes")

    def of(self, kind):
        return [data for name, data in self.events if name == kind]


def turn(*blocks, **more):
    return {"content": list(blocks), **more}


def text(words):
    return {"type": "text", "text": words}


def use(name, id=None, **given):
    return {"type": "tool_use", "name": name, "input": given, **({"id": id} if id else {})}


class Faulty(ReplayProvider):
    """Breaks off as told: `faults[n]` is (number of events to let through, the error) for the n-th request."""

    def __init__(self, turns, faults):
        super().__init__(turns)
        self.faults, self.tries = faults, 0

    async def stream(self, request):
        fault = self.faults.get(self.tries)
        self.tries += 1
        if fault is None:
            async with aclosing(super().stream(request)) as events:
                async for event in events:
                    yield event
            return
        after, error = fault
        script = ReplayProvider([self.turns[len(self.requests)]])
        async with aclosing(script.stream(request)) as events:
            for _ in range(after):
                yield await anext(events)
        if error == "cut":
            self.requests.append(request)
            return
        raise error


def quick():
    return Retries(most=3, first=0.001)


class Saying:
    """A provider that yields whatever it is given, answer by answer; an exception is raised."""

    name = "saying"

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    async def stream(self, request):
        self.requests.append(request)
        for event in self.answers.pop(0):
            if isinstance(event, Exception):
                raise event
            if callable(event):
                await event()
            else:
                yield event


def answer(*blocks):
    script = ReplayProvider([turn(*blocks)])

    async def events():
        return [event async for event in script.stream(Request("m", ()))]

    return anyio.run(events)
