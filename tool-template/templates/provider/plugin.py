"""{{ cookiecutter.description }}"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from pegboard import ProviderError, Settings, hookimpl
from pegboard_session import Provider, ProviderEvent, Request, Stop, TextDelta, Usage


class {{ cookiecutter.__tool }}:
    """{{ cookiecutter.description }}"""

    name = "{{ cookiecutter.__word }}"

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent, None]:
        """The events of one answer.

        Ask your service here: translate `request` into its format, and what it sends into events. A call that the
        model makes is a `ToolCall`, yielded when its input is complete.
        """
        last = request.messages[-1]["content"][-1]
        if last["type"] != "text":
            raise ProviderError(f"{self.name} understands text only, not {last['type']}.", kind="invalid_request")
        words = last["text"].split()
        for word in words:
            yield TextDelta(f"{word} ")
        yield Usage(input_tokens=len(words), output_tokens=len(words))
        yield Stop("end_turn")


@hookimpl
def register_providers(settings: Settings) -> list[Provider]:
    return [{{ cookiecutter.__tool }}()]
