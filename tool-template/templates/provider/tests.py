{%- set file = cookiecutter.__file -%}
"""The provider, in a real session."""

import anyio
import pytest
from pegboard import Board, ProviderError
from pegboard_session import Outcome, Request, Session, find_providers

from {{ cookiecutter.__module }} import {{ cookiecutter.__tool }}


async def ask(board: Board, prompt: str) -> Outcome:
    async with Session(board, find_providers(board)["{{ cookiecutter.__word }}"], model="any") as session:
        return await session.run(prompt)


def test_{{ file }}_is_found_by_its_name(board):
    assert isinstance(find_providers(board)["{{ cookiecutter.__word }}"], {{ cookiecutter.__tool }})


def test_{{ file }}_answers(board):
    outcome = anyio.run(ask, board, "Good morning")
    assert outcome.text == "Good morning "


def test_{{ file }}_says_what_it_does_not_understand():
    picture = {"role": "user", "content": [{"type": "image", "source": {}}]}

    async def read() -> None:
        async for _ in {{ cookiecutter.__tool }}().stream(Request("any", [picture])):
            pass

    with pytest.raises(ProviderError, match="understands text only, not image"):
        anyio.run(read)
