{%- set file = cookiecutter.__file -%}
"""The policy, through the door the model uses: calls of a tool that writes."""

import pytest

from {{ cookiecutter.__module }} import KEPT


@pytest.mark.parametrize("name", sorted(KEPT))
def test_{{ file }}_refuses_to_change_what_is_kept(name, call_tool, ctx, approve):
    result = call_tool("Write", file_path=name, content="new\n")
    assert (result.is_error, result.code) == (True, "permission_denied")
    assert f"{name} must stay as it is." in result.text
    assert not (ctx.cwd / name).exists()


def test_{{ file }}_has_no_opinion_about_other_files(call_tool, ctx, approve):
    assert not call_tool("Write", file_path="notes.txt", content="new\n").is_error
    assert (ctx.cwd / "notes.txt").read_text() == "new\n"


def test_{{ file }}_does_not_approve_anything(call_tool, ctx, deny):
    assert call_tool("Write", file_path="notes.txt", content="new\n").code == "permission_denied"
    assert not (ctx.cwd / "notes.txt").exists()


def test_a_model_is_told_and_goes_on(scripted_model, approve):
    played = scripted_model.calls("Write", file_path="CHANGELOG.md", content="").says("I leave it.").run("Empty it.")
    assert played.outcome.text == "I leave it."
    assert "must stay as it is" in played.texts[0]
