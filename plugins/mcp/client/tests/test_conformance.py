"""The official conformance suite drives our client, against servers of its own on the loopback address."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.node import NODE, installed

SUITE = "@modelcontextprotocol/conformance"
SLOW = os.environ.get("PEGBOARD_TEST_SLOW") == "1"
CLIENT = Path(__file__).parent / "conformance_client.py"
SOME = ["tools_call", "sep-2322-client-request-state", "auth/scope-step-up"]
"""What the short form runs: a call, a question in the middle of a call, and a login that has to be widened."""
PLAIN = [
    *"elicitation-sep1034-client-defaults http-custom-headers http-invalid-tool-headers".split(),
    *"http-standard-headers initialize json-schema-2020-12-preservation json-schema-ref-no-deref".split(),
    *"request-metadata sse-retry".split(),
]
LOGINS = [
    *"2025-03-26-oauth-endpoint-fallback 2025-03-26-oauth-metadata-backcompat".split(),
    *"authorization-server-migration basic-cimd iss-normalized iss-not-advertised iss-supported".split(),
    *"iss-supported-missing iss-unexpected iss-wrong-issuer metadata-default metadata-issuer-mismatch".split(),
    *"metadata-var1 metadata-var2 metadata-var3 offline-access-not-supported offline-access-scope".split(),
    *"pre-registration resource-mismatch scope-from-scopes-supported scope-from-www-authenticate".split(),
    *"scope-omitted-when-undefined scope-retry-limit token-endpoint-auth-basic token-endpoint-auth-none".split(),
    *"token-endpoint-auth-post".split(),
]
REST = [*PLAIN, *(f"auth/{name}" for name in LOGINS)]


def conform(tmp_path, *options):
    suite = installed(f"{SUITE}@0.2.0-alpha.12") / SUITE / "dist/index.js"
    words = [NODE, suite, "client", "--command", f"{sys.executable} {CLIENT}", "--timeout", "240000"]
    made = subprocess.run([*words, "-o", tmp_path, *options], capture_output=True, text=True, cwd=tmp_path)
    return made.returncode, made.stdout + made.stderr


@pytest.mark.timeout(600)
@pytest.mark.parametrize("scenario", [*SOME, *REST] if SLOW else SOME)
def test_every_scored_scenario(tmp_path, scenario):
    code, said = conform(tmp_path, "--scenario", scenario)
    assert "OVERALL: PASSED" in said, said[-3000:]
    assert code == 0
