"""Scripts in the style of those that people share for this protocol; each runs as it is."""

import shutil
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
NEEDS_JQ = pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
DONE = [{"type": "text", "text": "Done."}]


@pytest.fixture
def install(project):
    """Put a script into the project as its author would, in trusted project settings."""

    def put(name, event, matcher=None):
        folder = project.root / ".pegboard/hooks"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / name, folder / name)
        (folder / name).chmod(0o755)
        project.hook(event, f'"$CLAUDE_PROJECT_DIR"/.pegboard/hooks/{name}', matcher=matcher)

    return put


@NEEDS_JQ
@pytest.mark.parametrize(("file", "blocked"), [(".env", True), ("sub/.env.local", True), ("environment.py", False)])
async def test_edits_of_environment_files_are_blocked(project, install, file, blocked):
    install("protect_env.sh", "PreToolUse", "Edit|MultiEdit|Write")
    (project.root / "sub").mkdir()
    result = await project.call("Write", file_path=file, content="x")
    assert (project.root / file).exists() is not blocked
    assert ("holds secrets and is edited by hand." in result.text) is blocked


@NEEDS_JQ
async def test_every_command_is_logged(project, install):
    install("log_commands.sh", "PreToolUse", "Bash")
    await project.call("Bash", command="echo one", description="Say one")
    await project.call("Bash", command="echo two")
    await project.call("Echo", text="three")
    log = (project.root / "commands.log").read_text().splitlines()
    assert log == ["echo one - Say one", "echo two - no description"]


@pytest.mark.parametrize(
    ("command", "advice"),
    [("grep -r x .", "- Use rg instead of grep."), ("find . -name x", "- Use rg --files"), ("echo fine", "")],
)
async def test_commands_are_sent_to_better_tools(project, install, command, advice):
    install("check_command.py", "PreToolUse", "Bash")
    result = await project.call("Bash", command=command)
    assert (advice in result.text, result.is_error) == (True, bool(advice))


async def test_documentation_is_approved_and_code_still_asks(project, install):
    install("approve_docs.py", "PreToolUse", "Write|Read")
    await project.call("Write", file_path="notes.md", content="x")
    assert project.person.asked == []
    await project.call("Write", file_path="code.py", content="x")
    assert len(project.person.asked) == 1


async def test_a_file_is_formatted_after_it_was_written(project, install):
    install("format_after_edit.py", "PostToolUse", "Write|Edit")
    result = await project.call("Write", file_path="a.py", content="x = 1   \ny = 2")
    assert (project.root / "a.py").read_text() == "x = 1\ny = 2\n"
    assert [block.text for block in result.content] == ["Wrote 'x = 1\\ny = 2\\n'.", "a.py was formatted."]


async def test_a_deployment_becomes_a_rehearsal(project, install):
    install("dry_run.py", "PreToolUse", "Bash")
    result = await project.call("Bash", command="deploy production")
    assert (result.text, project.person.asked) == ("deploy production --dry-run\n", [])


async def test_secrets_are_kept_out_of_prompts(project, install):
    install("prompt_guard.py", "UserPromptSubmit")
    outcome, _ = await project.talk("My password: hunter2")
    assert outcome.text == "The prompt seems to hold a secret. Say it without."
    _, session = await project.talk("Hello", DONE)
    assert session.messages[0]["content"][-1]["text"] == "The working day ends at five."


@NEEDS_JQ
async def test_the_model_does_not_stop_while_tests_fail(project, install):
    install("tests_first.sh", "Stop")
    (project.root / "tests-failed").touch()
    outcome, _ = await project.talk("Go", DONE, [{"type": "text", "text": "Mended."}])
    assert outcome.text == "Mended."
    (project.root / "tests-failed").unlink()
    outcome, _ = await project.talk("Go", DONE)
    assert outcome.text == "Done."
