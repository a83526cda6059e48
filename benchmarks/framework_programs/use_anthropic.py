"""The tool runner of the Anthropic SDK, with a transport that plays a script."""

import json

import anthropic
from anthropic import AsyncAnthropic, beta_async_tool
from play import TOOLS, given, measure

try:
    import httpx2 as httpx
except ImportError:
    import httpx

TOOL_OBJECTS = {name: beta_async_tool(function) for name, function in TOOLS.items()}


async def turn(tool, calls):
    uses = [{"type": "tool_use", "id": f"toolu_{n}", "name": tool, "input": given()} for n in range(calls)]
    answers = iter([(uses, "tool_use"), ([{"type": "text", "text": "Done."}], "end_turn")])

    def answer(request):
        content, reason = next(answers)
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content}
        return httpx.Response(200, json={**message, "stop_reason": reason, "stop_sequence": None, "usage": usage})

    http = anthropic.DefaultAsyncHttpxClient(transport=httpx.MockTransport(answer))
    async with AsyncAnthropic(api_key="k", http_client=http) as client:
        runner = client.beta.messages.tool_runner(
            model="m", max_tokens=100, messages=[{"role": "user", "content": "Go"}], tools=[TOOL_OBJECTS[tool]]
        )
        last = await runner.until_done()
    assert json.loads(last.to_json())["content"][0]["text"] == "Done."


measure(turn)
