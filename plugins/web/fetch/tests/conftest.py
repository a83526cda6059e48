"""Sites on loopback, a certificate authority of our own, and the tool with its network led there."""

from __future__ import annotations

import json
import ssl
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from pegboard import Board, Call, Result, Tool
from pegboard.settings import load
from pegboard_testing.warm import known_plugins
from pegboard_webfetch import WebFetch
from pegboard_webfetch.cache import Cache

sys.path.insert(0, str(Path(__file__).parent))
from webfetch_sites import Site, Web

NAMES = (
    "example.com",
    "example.org",
    "rebind.example",
    "*.hosts.example",
    "*.example.com",
    "en.wikipedia.org",
    "docs.python.org",
    "github.com",
)
ADDRESSES = ("1.1.1.1", "2606:4700:4700::1111")


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own authority, by the variable that a user would set."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


@pytest.fixture
def plain() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


@pytest.fixture
def secure(authority: trustme.CA, trusted: None) -> Iterator[Site]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*NAMES, *ADDRESSES).configure_cert(context)
    site = Site(context)
    yield site
    site.close()


@pytest.fixture
def web(plain: Site, secure: Site) -> Web:
    return Web(plain, secure)


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


@pytest.fixture
def tool(web: Web, clock: list[float]) -> WebFetch:
    made = WebFetch(web.network, Cache(now=lambda: clock[0]))
    made.overrides_built_in = True  # type: ignore[attr-defined] # The installed one has the real network.
    return made


Ask = Callable[..., "Result"]


@pytest.fixture
def settings_file(tmp_path: Path) -> Callable[..., None]:
    """Write the user's settings: what is allowed, and the rest as it stands in the file."""

    def write(*allow: str, **more: object) -> None:
        folder = tmp_path.parent / f"{tmp_path.name}-home" / ".pegboard"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.json").write_text(json.dumps({"permissions": {"allow": list(allow)}, **more}))

    return write


@pytest.fixture
def make_board(
    tmp_path: Path, tool: WebFetch, answers: object, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Board]:
    """A board whose WebFetch is the one with our network; services are the machine's unless given."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def make(**more: object) -> Board:
        home = tmp_path.parent / f"{tmp_path.name}-home"
        env = {"HOME": str(home), "PATH": "", "PEGBOARD_DISABLE": "pegboard-webfetch"}
        settings = load(tmp_path, env, managed=str(home / "managed"))
        with known_plugins(home):
            return Board.load(settings=settings, env=env, plugins=[answers], tools=[tool], **more)

    return make


@pytest.fixture
def fetch(make_board: Callable[..., Board], approve: None) -> Callable[..., object]:
    """Call WebFetch as a model would, with a person who approves what is asked."""

    async def call(url: str, **arguments: object) -> Result:
        board = make_board()
        return await board.dispatch(Call("test", "WebFetch", {"url": url, **arguments}), board.context())

    return call


SITES: list[Site] = []


def pytest_pegboard_examples(tool: Tool[Any, Any]) -> list[Any] | None:
    """A page on loopback for the contract suite, which runs no tool that reaches outside unless told with what."""
    if tool.name != "WebFetch":
        return None
    SITES.append(Site())
    SITES[-1].pages["/"] = b"<p>A small page.</p>"
    return [{"url": f"http://localhost:{SITES[-1].port}/", "prompt": "What is it?"}]


def pytest_pegboard_settings(tool: Tool[Any, Any]) -> dict[str, Any] | None:
    return {"permissions": {"allow": ["WebFetch(domain:localhost)"]}} if tool.name == "WebFetch" else None


def pytest_unconfigure() -> None:
    while SITES:
        SITES.pop().close()
