"""`pegboard mcp login` with a login server on the loopback address, from the browser to the refresh."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from .world import close

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("login_server.py")


class Site:
    """A server that wants a login, and what a person does about it."""

    def __init__(self, world, port, notes):
        self.world, self.notes = world, notes
        for left in notes.parent.glob("notes*"):
            left.unlink()
        with socket.create_server(("127.0.0.1", 0)) as probe:
            callback = probe.getsockname()[1]
        url = f"http://127.0.0.1:{port}/mcp"
        self.entry = {"type": "http", "url": url, "oauth": {"callbackPort": callback}}
        self.write(self.entry)

    def write(self, entry):
        path = self.world.home / ".pegboard/settings.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"mcpServers": {"docs": entry}}))

    def command(self, *words):
        command = [sys.executable, "-m", "pegboard_cli", "mcp", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.world.project, env=self.world.env, stdout=pipe, stderr=pipe, text=True
        )

    def run(self, *words):
        process = self.command(*words)
        said = "".join(process.communicate())
        return process.returncode, said

    def log_in(self, change=lambda address: address):
        """What the command says once the browser has been where the login server sent it."""
        process = self.command("login", "--no-browser", "docs")
        lines = iter(process.stdout.readline, "")
        address = next((found[0] for line in lines if (found := re.search(r"http://\S+", line))), None)
        assert address, process.stderr.read()
        back = follow(address)
        with urllib.request.urlopen(change(back)) as page:
            shown = page.read().decode()
        said = "".join(process.communicate())
        return process.returncode, said, shown

    @property
    def file(self):
        found = list((self.world.home / ".local/state/pegboard/mcp").glob("*.login.json"))
        return found[0] if found else None

    async def state(self, **more):
        board = self.world.board({"docs": {**self.entry, **more}})
        hub = await self.world.connect(board)
        found = hub.connections["docs"].state, hub.connections["docs"].problem
        result = await board.call("mcp__docs__secret") if found[0] == "ready" else None
        await close(board)
        return (*found, result.text if result else "")


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *given):
        return None


def follow(address):
    """Where the login server sends the browser."""
    try:
        urllib.request.build_opener(_Stay).open(address)
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.headers["Location"]
    raise AssertionError("the login server did not send the browser back")


@pytest.fixture(scope="module")
def login_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("login")
    port_file, notes = folder / "port", folder / "notes"
    process = subprocess.Popen([sys.executable, str(SERVER), str(port_file), str(notes)])
    end = time.monotonic() + 60
    while not port_file.exists():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    yield port_file.read_text(), notes
    process.kill()
    process.wait()


@pytest.fixture
def site(world, login_server):
    return Site(world, *login_server)


NEEDED = "It requires a login. Run: pegboard mcp login docs"


async def test_a_login_is_kept_for_the_person_alone_and_ends_with_a_logout(site):
    assert await site.state() == ("failed", NEEDED, "")
    code, said, shown = site.log_in()
    assert (code, said) == (0, "Logged in to docs.\n"), said
    assert "You are logged in." in shown
    assert site.file.stat().st_mode & 0o777 == 0o600
    assert site.file.parent.stat().st_mode & 0o077 == 0
    token = json.loads(site.file.read_text())["tokens"]["access_token"]
    assert await site.state() == ("ready", "", "only for those who are logged in")
    assert token not in site.run("list", "--json")[1]
    site.file.chmod(0o644)
    assert (await site.state())[1] == NEEDED  # What others can read, others may have written.
    site.file.chmod(0o600)
    other = site.entry["url"].replace("127.0.0.1", "localhost")
    assert (await site.state(url=other))[1] == NEEDED  # A login is for one address.
    assert site.run("login", "--logout", "docs") == (0, "Logged out of docs.\n")
    assert site.file is None
    assert (await site.state())[1] == NEEDED


async def test_tokens_that_have_ended_are_refreshed_in_a_later_process_too(site):
    assert site.log_in()[0] == 0
    kept = json.loads(site.file.read_text())
    site.file.write_text(json.dumps({**kept, "expires_at": 1}))
    assert (await site.state())[0] == "ready"
    assert site.notes.read_text().split()[:2] == ["code", "refresh"]
    new = json.loads(site.file.read_text())["tokens"]
    assert new["refresh_token"] != kept["tokens"]["refresh_token"]
    assert site.file.stat().st_mode & 0o777 == 0o600
    site.file.write_text(json.dumps({**kept, "tokens": new, "expires_at": 1}))
    Path(f"{site.notes}.closed").touch()
    assert (await site.state())[:2] == ("failed", NEEDED)
    assert f"docs: {NEEDED}" in site.run("test", "docs")[1]


def test_a_connection_that_is_opened_and_left_does_not_end_the_login(site):
    def knock(back):
        where = urllib.parse.urlsplit(back)
        for words in (b"", b"GET /favicon.ico HTTP/1.1\r\n"):
            with socket.create_connection(("127.0.0.1", where.port)) as left:
                left.sendall(words)
        return back

    assert site.log_in(knock)[0] == 0


def test_a_browser_that_comes_back_with_another_state_is_refused(site):
    forged = site.log_in(lambda back: re.sub("state=[^&]+", "state=forged", back))
    assert forged[0] == 1
    assert forged[1].startswith("pegboard: The login to docs failed: ")
    assert "state" in forged[1].lower()
    assert site.file is None or "tokens" not in json.loads(site.file.read_text())
    assert not site.notes.exists()  # The code was not even shown to the login server.


def test_a_login_server_that_says_no_is_quoted(site):
    Path(f"{site.notes}.no").touch()
    code, said, shown = site.log_in()
    assert (code, said) == (1, "pegboard: The login to docs failed: You are not on the list.\n")
    assert "The login failed: You are not on the list." in shown
