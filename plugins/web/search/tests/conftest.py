"""A search service on loopback, and a board whose settings lead there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pegboard import Board, Call, Result, Tool

sys.path.insert(0, str(Path(__file__).parent))
from websearch_servers import KEY, SearchServer


@pytest.fixture(autouse=True)
def _no_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[SearchServer]:
    made = SearchServer()
    yield made
    made.close()


MakeBoard = Callable[..., Board]


@pytest.fixture
def anyio_backend() -> str:
    """Most tests run on one backend; those of the requests run on both."""
    return "asyncio"


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of plugins, made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def make_board(tmp_path: Path, shared_cache: Path, answers: object, server: SearchServer) -> MakeBoard:
    """A board with the installed plugins, and settings of the application."""

    def make(
        name: str = "searxng", *, plugins: tuple[object, ...] = (), settings: Any = None, **websearch: Any
    ) -> Board:
        said = {"backends": [name], "url": server.url, "key": KEY, **websearch}
        said = {key: value for key, value in said.items() if value is not None}
        env = {"HOME": str(tmp_path), "PATH": "", "XDG_CACHE_HOME": str(shared_cache)}
        whole = {"websearch": said, "only": ["web", "policy"], **(settings or {})}
        return Board.load(settings=whole, env=env, plugins=[answers, *plugins], record=True)

    return make


@pytest.fixture
def search(make_board: MakeBoard, approve: None) -> Callable[..., Any]:
    """Call WebSearch as a model would, with a person who approves what is asked."""

    async def call(board: Board | str = "searxng", **arguments: Any) -> Result:
        board = make_board(board) if isinstance(board, str) else board
        given = {"query": "async python", **arguments}
        return await board.dispatch(Call("test", "WebSearch", given), board.context())

    return call


SERVERS: list[SearchServer] = []


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    """A query for the contract suite, which runs no tool that reaches outside unless told with what."""
    return [{"query": "async python"}] if tool.name == "WebSearch" else None


def pytest_pegboard_settings(tool: Tool[Any, Any]) -> dict[str, Any] | None:
    if tool.name != "WebSearch":
        return None
    SERVERS.append(SearchServer())
    SERVERS[-1].finds("searxng")
    return {"websearch": {"backends": ["searxng"], "url": SERVERS[-1].url}, "permissions": {"allow": ["WebSearch"]}}


def pytest_unconfigure() -> None:
    while SERVERS:
        SERVERS.pop().close()
