"""The official conformance suite against our server, in both eras of the protocol.

The short form runs one scenario of each; PEGBOARD_TEST_SLOW=1 runs every scenario of both.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.mcp_serving import TOKEN, World
from tests.node import NODE, installed
from tests.token_proxy import TokenProxy

SUITE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
HERE = Path(__file__).parent
SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
SHORT = {
    "2025-11-25": ["tools-call-elicitation"],
    "2026-07-28": ["server-stateless"],
}


@pytest.fixture(scope="module")
def suite():
    return installed(f"{SUITE}@{VERSION}") / SUITE / "dist/index.js"


@pytest.fixture(scope="module")
def url(tmp_path_factory, suite):
    """The address of our server, reached through a proxy that adds the token, which the suite cannot send."""
    world = World(tmp_path_factory.mktemp("conformance"))
    world.plugin("conformance_tools", HERE / "conformance_tools.py")
    with TokenProxy() as proxy:
        names = [f"{name}:{proxy.port}" for name in ("127.0.0.1", "localhost")]
        words = [word for name in names for word in ("--allow-host", name, "--allow-origin", f"http://{name}")]
        with world.http(*words) as server:
            proxy.lead_to(server.port, TOKEN)
            yield f"http://127.0.0.1:{proxy.port}/mcp"


def run(suite, url, folder, *words):
    command = [NODE, str(suite), "server", "--url", url, "--timeout", "120000", "-o", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not SLOW, reason="the long form: set PEGBOARD_TEST_SLOW=1")
@pytest.mark.parametrize("revision", SHORT)
def test_every_scenario_of_a_revision_passes_or_is_expected_to_fail(suite, url, revision, tmp_path):
    expected = HERE / "conformance-expected-failures.yml"
    done = run(suite, url, tmp_path, "--requirements", revision, "--expected-failures", str(expected))
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"^✓ [\w-]+:", done.stdout, re.MULTILINE)) > 20, done.stdout


@pytest.mark.skipif(SLOW, reason="the long form runs them all")
@pytest.mark.parametrize(("revision", "scenario"), [(era, name) for era, names in SHORT.items() for name in names])
def test_a_scenario_passes(suite, url, revision, scenario, tmp_path):
    done = run(suite, url, tmp_path, "--scenario", scenario, "--spec-version", revision)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Passed: (\d+)/\1, 0 failed", done.stdout), done.stdout
