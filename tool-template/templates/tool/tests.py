{%- set tool = cookiecutter.__tool -%}
{%- set file = cookiecutter.__file -%}
{%- set mutating = cookiecutter.access == 'mutating' -%}
{%- set model = cookiecutter.output == 'model' -%}
{%- set counting = cookiecutter.__is_word_count == 'True' -%}
"""{{ tool }}, through the door the model uses."""

from pegboard_testing import assert_contract

from {{ cookiecutter.__module }} import {{ tool }}

{% if mutating %}
def test_{{ file }}_adds_a_line_to_the_end(call_tool, ctx, approve):
    (ctx.cwd / "a.txt").write_text("one\ntwo")
    result = call_tool("{{ tool }}", file_path="a.txt", line="three")
{%- if model %}
    assert (result.is_error, result.value.lines) == (False, 3)
{%- else %}
    assert result.text == "a.txt has 3 lines now."
{%- endif %}
    assert (ctx.cwd / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_{{ file }}_makes_a_missing_file(call_tool, ctx, approve):
    assert not call_tool("{{ tool }}", file_path="new.txt", line="one").is_error
    assert (ctx.cwd / "new.txt").read_text() == "one\n"


def test_{{ file }}_changes_nothing_unless_it_is_approved(call_tool, ctx, deny):
    result = call_tool("{{ tool }}", file_path="a.txt", line="one")
    assert (result.is_error, result.code) == (True, "permission_denied")
    assert not (ctx.cwd / "a.txt").exists()


def test_{{ file }}_tells_the_model_what_is_wrong(call_tool, ctx, approve):
    (ctx.cwd / "folder").mkdir()
    result = call_tool("{{ tool }}", file_path="folder", line="one")
    assert (result.is_error, result.code) == (True, "not_found")


def test_a_model_can_use_{{ file }}(scripted_model, ctx, approve):
    played = scripted_model.calls("{{ tool }}", file_path="a.txt", line="one").says("Added.").run("Add a line.")
    assert played.outcome.text == "Added."
    assert (ctx.cwd / "a.txt").read_text() == "one\n"
{% else %}
def test_{{ file }}_{% if counting %}counts_lines_words_and_characters{% else %}tells_how_long_a_file_is{% endif %}(call_tool, ctx):
    (ctx.cwd / "a.txt").write_text("one two\nthree\n")
    result = call_tool("{{ tool }}", file_path="a.txt")
{%- if model and counting %}
    assert (result.value.lines, result.value.words, result.value.characters) == (2, 3, 14)
{%- elif model %}
    assert result.value.characters == 14
{%- elif counting %}
    assert result.text == "a.txt: 2 lines, 3 words, 14 characters"
{%- else %}
    assert result.text == "a.txt: 14 characters"
{%- endif %}


def test_{{ file }}_needs_no_permission(call_tool, ctx):
    (ctx.cwd / "a.txt").write_text("one")
    assert call_tool("{{ tool }}", file_path="a.txt").decision.layer == "read-only"


def test_{{ file }}_tells_the_model_what_is_wrong(call_tool):
    result = call_tool("{{ tool }}", file_path="missing.txt")
    assert (result.is_error, result.code) == (True, "not_found")
    assert "is not a file. Use Glob to find the right path." in result.text


def test_a_model_can_use_{{ file }}(scripted_model, ctx):
    (ctx.cwd / "a.txt").write_text("one two three\n")
    played = scripted_model.calls("{{ tool }}", file_path="a.txt").says("It is short.").run("How long is it?")
    assert played.outcome.text == "It is short."
    assert "14" in played.texts[0]
{% endif %}

def test_{{ file }}_keeps_the_contract():
    assert_contract({{ tool }})
