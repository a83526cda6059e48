{%- set tool = cookiecutter.__tool -%}
{%- set mutating = cookiecutter.access == 'mutating' -%}
{%- set awaits = cookiecutter.style == 'async' -%}
{%- set model = cookiecutter.output == 'model' -%}
{%- set counting = cookiecutter.__is_word_count == 'True' -%}
"""{{ cookiecutter.description }}"""

from __future__ import annotations

from pathlib import Path
{% if awaits %}
from anyio import to_thread
{%- endif %}
from pegboard import Context, {% if mutating %}Facts, {% endif %}Input, Tool, ToolError, hookimpl, tool
{%- if model %}
from pydantic import BaseModel
{%- endif %}

MAX_BYTES = 10_000_000


class {{ tool }}Input(Input):
    file_path: Path
    """The text file{% if mutating %}; it is made if it is missing{% endif %}. A relative path starts at the working directory."""
{%- if mutating %}
    line: str
    """The line to add, without a line break at its end."""
{%- endif %}

{% if model %}
class {{ tool }}Output(BaseModel):
    file_path: str
{%- if mutating or counting %}
    lines: int
{%- endif %}
{%- if counting %}
    words: int
{%- endif %}
{%- if not mutating %}
    characters: int
{%- endif %}

{% endif %}
{%- if mutating %}
def facts(args: {{ tool }}Input, ctx: Context) -> Facts:
    """What a call would do. Rules about paths and the question to the user rest on it."""
    return Facts(open_world=False, writes=(ctx.resolve(args.file_path),))


@tool(facts=facts, search_hint="add append line to text file", interrupt_behavior="block")
{%- else %}
@tool(read_only=True, concurrency_safe=True, open_world=False, search_hint="{% if counting %}count lines words characters of text{% else %}length of a text file{% endif %}")
{%- endif %}
{% if awaits %}async {% endif %}def {{ tool }}(args: {{ tool }}Input, ctx: Context) -> {% if model %}{{ tool }}Output{% else %}str{% endif %}:
    """{{ cookiecutter.description }}

{%- if mutating %}

    Use it to add to a text without reading it first.
{%- else %}

    Use it when you need the size of a text rather than its contents.
{%- endif %}
    """
    path = ctx.resolve(args.file_path)
{%- if mutating %}
    text = {% if awaits %}await to_thread.run_sync(_append, path, args.line, ctx){% else %}_append(path, args.line, ctx){% endif %}
{%- if model %}
    return {{ tool }}Output(file_path=str(args.file_path), lines=text.count("\n"))
{%- else %}
    return f"{args.file_path} has {text.count(chr(10))} lines now."
{%- endif %}
{%- else %}
    text = {% if awaits %}await to_thread.run_sync(_text_of, path){% else %}_text_of(path){% endif %}
{%- if counting %}
    lines, words, characters = text.count("\n"), len(text.split()), len(text)
{%- if model %}
    return {{ tool }}Output(file_path=str(args.file_path), lines=lines, words=words, characters=characters)
{%- else %}
    return f"{args.file_path}: {lines} lines, {words} words, {characters} characters"
{%- endif %}
{%- else %}
    # What your tool does goes here; this line only tells how long the text is.
{%- if model %}
    return {{ tool }}Output(file_path=str(args.file_path), characters=len(text))
{%- else %}
    return f"{args.file_path}: {len(text)} characters"
{%- endif %}
{%- endif %}
{%- endif %}
{%- if mutating %}


def _append(path: Path, line: str, ctx: Context) -> str:
    with ctx.files.lock(path):
        before = _text_of(path) if path.exists() else ""
        gap = "" if before.endswith("\n") or not before else "\n"
        after = f"{before}{gap}{line}\n"
        ctx.files.write(path, after.encode(), approved_paths=ctx.approved_paths)
        ctx.files.forget(path)  # The model has not seen the rest: Edit and Write ask for a Read first.
    return after
{%- endif %}


def _text_of(path: Path) -> str:
    if not path.is_file():
        raise ToolError(f"{path} is not a file. Use Glob to find the right path.", code="not_found")
    if path.stat().st_size > MAX_BYTES:
        raise ToolError(f"{path} is larger than {MAX_BYTES} bytes.", code="too_large")
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise ToolError(f"{path} is not UTF-8 text.", code="unsupported") from None
    except OSError as error:
        raise ToolError(f"{path} cannot be read: {error.strerror}.", code="permission_denied") from None


@hookimpl
def register_tools() -> list[Tool[{{ tool }}Input, {% if model %}{{ tool }}Output{% else %}str{% endif %}]]:
    return [{{ tool }}]
