"""Definition files: what is read, what is reported with file and line, and what a repository may not do."""

import os
import subprocess
import sys
import time

import pytest

from pegboard.settings import Settings
from pegboard_agent.catalogue import catalogue
from pegboard_agent.kinds import BUILT_IN
from pegboard_session import AgentDefinition
from pegboard_testing.warm import warm

REGISTERED = {kind.name: kind for kind in BUILT_IN}


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def read(project, home):
    def read(*, trusted=True):
        settings = Settings(cwd=str(project), trusted=trusted)
        return catalogue(settings, REGISTERED, {"HOME": str(home)})

    return read


def put(folder, name, content, place=".pegboard"):
    path = folder / place / "agents" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


FULL = """\
---
name: reviewer
description: "Reviews: finds what is wrong."
tools: Read, Grep, Agent(Explore, Plan)
disallowedTools:
  - Bash
model: claude-large
permissionMode: plan
maxTurns: 12
background: true
isolation: worktree
color: blue
---

You review.
"""


def test_every_field_is_read(project, read):
    path = put(project, "reviewer.md", FULL)
    found = read()
    assert found.problems == []
    assert found.kinds["reviewer"] == AgentDefinition(
        "reviewer",
        "Reviews: finds what is wrong.",
        "You review.",
        tools=("Read", "Grep", "Agent(Explore, Plan)"),
        disallowed_tools=("Bash",),
        model="claude-large",
        permission_mode="plan",
        max_turns=12,
        source=str(path),
        background=True,
        isolation="worktree",
        color="blue",
    )


def _bomb():
    """Nine levels of nine: four hundred million names, if anybody took it at its word."""
    levels = "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    return f"---\nname: a\ndescription: b\na: &a [x]\n{levels}tools: *i\n---\n"


BROKEN = {
    "colon": ("---\nname: a\ndescription: b\ntools: Read: now\n---\n", 4, "This is not valid YAML"),
    "tab": ("---\nname: a\n\tdescription: b\n---\n", 3, "This is not valid YAML"),
    "no-end": ("---\nname: a\ndescription: b\n", 1, "The three dashes that end the fields are missing"),
    "no-description": ("---\nname: a\n---\n", 2, "description is missing"),
    "a-list": ("---\n- a\n---\n", 2, "Expected fields"),
    "bad-name": ("---\ndescription: b\nname: a b/c\n---\n", 3, "name must be 1 to 64 letters"),
    "name-number": ("---\nname: 3\ndescription: b\n---\n", 2, "name must be text, got 3"),
    "bad-tools": ("---\nname: a\ndescription: b\ntools: {Read: 1}\n---\n", 4, "tools must be a list"),
    "bad-mode": ("---\nname: a\ndescription: b\npermissionMode: yolo\n---\n", 4, "permissionMode must be one of"),
    "bad-turns": ("---\nname: a\ndescription: b\nmaxTurns: 0\n---\n", 4, "maxTurns must be a whole number"),
    "bad-background": ("---\nname: a\ndescription: b\nbackground: 'no'\n---\n", 4, "background must be true or false"),
    "bad-isolation": ("---\nname: a\ndescription: b\nisolation: moon\n---\n", 4, "isolation must be worktree"),
    "twice": ("---\nname: a\ndescription: b\nname: c\n---\n", 4, "Duplicate field 'name'"),
    "not-utf8": (b"---\nname: a\ndescription: \xff\n---\n", 3, "This is not UTF-8 text"),
    "too-large": (b"---\n" + b"x" * 300_000, 1, "larger than"),
    "python": ("---\nname: !!python/object/apply:os.getcwd []\ndescription: b\n---\n", 2, "name must be text, got []"),
    "alias": (_bomb(), 5, "Aliases such as *name are not supported"),
    "merge": ("---\nname: a\nx: &x {k: 1}\ny: {<<: [*x, *x]}\n---\n", 4, "Aliases such as *name are not supported"),
    "huge-number": (f"---\nname: a\ndescription: b\nmaxTurns: {'9' * 5000}\n---\n", 4, "maxTurns must be a whole"),
    "no-date": ("---\nname: a\ndescription: b\nmaxTurns: 2024-99-99\n---\n", 4, "got '2024-99-99'"),
    "surrogate": ('---\nname: a\ndescription: "\\ud800"\n---\n', 3, "description contains the character U+D800"),
    "escape": ('---\nname: a\ndescription: "\\x1b[2J"\n---\n', 3, "description contains the character U+001B"),
    "direction": ("---\nname: a\ndescription: b\u202ec\n---\n", 3, "description contains the character U+202E"),
    "nul": ("---\nname: a\ndescription: b\0c\n---\n", 3, "special characters are not allowed"),
    "long-head": (f"---\nname: a\ndescription: b\ntools: {',' * 100_000}\n---\n", 2, "more than 16000 characters"),
    "deep": (f"---\nname: a\ndescription: b\ntools:\n  {'- ' * 7000}\n---\n", 2, "nested too deeply"),
    "brackets": (f"---\nname: a\ndescription: b\ntools: {'[' * 15_000}\n---\n", 2, "more than 200 brackets"),
    "lines": ("---\nname: a\n" + "".join(f"x{n}: 1\n" for n in range(1500)) + "---\n", 2, "more than 500 lines"),
    "no-character": ('---\nname: a\ndescription: "\\U00110000"\n---\n', 2, "a character that does not exist"),
    "list-key": ("---\n? [a]\n: b\nname: a\n---\n", 2, "Expected the name of a field before the colon"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_named_with_its_line_and_the_others_load(project, read, case):
    content, line, reason = BROKEN[case]
    path = put(project, f"{case}.md", content)
    put(project, "sound.md", "---\nname: sound\ndescription: Works.\n---\n")
    found = read()
    [problem] = found.problems
    assert problem.startswith(f"{path}:{line}: ")
    assert reason in problem
    assert "sound" in found.kinds
    assert set(found.kinds) == {*REGISTERED, "sound"}


def test_a_byte_order_mark_is_reported_and_read_over(project, read):
    path = put(project, "bom.md", b"\xef\xbb\xbf---\nname: bom\ndescription: b\n---\n")
    found = read()
    assert "bom" in found.kinds
    assert found.problems[0].startswith(f"{path}:1: The file begins with a byte order mark, which is ignored.")


def test_unknown_fields_are_one_quiet_line(project, read):
    path = put(project, "a.md", "---\nname: a\ndescription: b\nspeed: fast\nmood: calm\n---\n")
    found = read()
    assert "a" in found.kinds
    assert found.problems == []
    assert found.quiet == [f"{path}:4: These fields have no meaning here and are ignored: speed, mood."]


def test_fields_of_other_parts_are_kept_for_them(project, read):
    put(
        project,
        "a.md",
        "---\nname: a\ndescription: b\nskills: commit, review\neffort: high\nmemory: project\n"
        "hooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: 'true'\n"
        "mcpServers:\n  - github\n  - local:\n      command: serve\n---\n",
    )
    found = read()
    kind = found.kinds["a"]
    assert (kind.skills, kind.effort, kind.memory) == (("commit", "review"), "high", "project")
    assert kind.hooks == {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
    assert kind.mcp_servers == {"github": {}, "local": {"command": "serve"}}
    assert found.problems == found.quiet == []


@pytest.mark.parametrize(
    ("head", "description"),
    [
        ('description: Use it: "now". Examples: user: "a" assistant: \'b\'; Context: c', None),
        ("description: 'It''s: done", None),
        ("description: First: line\n  second: line", "First: line second: line"),
        ('description: Examples:\n- Context: a: b\nuser: "x" y', 'Examples: - Context: a: b user: "x" y'),
    ],
)
def test_a_description_that_is_no_yaml_is_read_as_text_with_a_note(project, read, head, description):
    path = put(project, "a.md", f"---\nname: a\n{head}\ntools: Read, Grep\n---\nGo.\n")
    found = read()
    assert found.problems == []
    assert found.kinds["a"].description == (description or head.partition(": ")[2])
    assert found.kinds["a"].tools == ("Read", "Grep")
    [note] = found.quiet
    assert note.startswith(f"{path}:3: description is read as plain text. This is not valid YAML")


@pytest.mark.parametrize("content", ["Just text.\n", "", "---\ndescription: Notes.\n---\nText.\n"])
def test_a_file_without_a_name_is_documentation(project, read, content):
    path = put(project, "notes.md", content)
    found = read()
    assert (set(found.kinds), found.problems) == (set(REGISTERED), [])
    assert found.quiet[0].startswith(f"{path}:1: This file has no ")
    assert found.quiet[0].endswith("so it is treated as documentation, not as an agent.")


def test_files_in_folders_below_are_read(project, read):
    put(project, "review/deep/security.md", "---\nname: security\ndescription: d\n---\n", place=".claude")
    put(project, "node_modules/x.md", "---\nname: hidden\ndescription: d\n---\n", place=".claude")
    assert set(read().kinds) == {*REGISTERED, "security"}


@pytest.mark.parametrize("name", ["Code Reviewer", "C++ Expert", "a", "QA & Docs #2"])
def test_names_may_have_capitals_and_blanks(project, read, name):
    put(project, "a.md", f"---\nname: '{name}'\ndescription: d\n---\n")
    assert name in read().kinds


@pytest.mark.parametrize("name", ["a/b", "a(b)", "a,b", "a  b", "revi\u0435wer", "a" * 65])
def test_names_that_rules_could_not_mean_are_refused(project, read, name):
    put(project, "a.md", f"---\nname: '{name}'\ndescription: d\n---\n")
    [problem] = read().problems
    assert "name must be 1 to 64 letters, digits, blanks" in problem


def test_the_folder_that_work_began_in_counts_before_the_root(project, home):
    start = project / "apps/web"
    start.mkdir(parents=True)
    put(project, "a.md", "---\nname: a\ndescription: of the root\n---\n", place=".claude")
    put(project, "b.md", "---\nname: b\ndescription: of the root\n---\n", place=".claude")
    put(start, "a.md", "---\nname: a\ndescription: of the app\n---\n", place=".claude")
    settings = Settings(cwd=str(start), root=str(project), trusted=True)
    kinds = catalogue(settings, REGISTERED, {"HOME": str(home)}).kinds
    assert (kinds["a"].description, kinds["b"].description) == ("of the app", "of the root")


def test_general_is_another_name_of_the_general_agent(project, read):
    assert read().get("general") is REGISTERED["general-purpose"]
    put(project, "g.md", "---\nname: general\ndescription: mine\n---\n")
    assert read().get("general").description == "mine"
    assert read(trusted=False).get("general") is REGISTERED["general-purpose"]


def test_of_two_equal_names_the_first_counts(project, read):
    first = put(project, "a.md", "---\nname: same\ndescription: first\n---\n")
    second = put(project, "b.md", "---\nname: same\ndescription: second\n---\n", place=".claude")
    found = read()
    assert found.kinds["same"].description == "first"
    assert found.problems == [f"{second}:2: The agent same is not used: {first} already defines it."]


def test_the_project_beats_the_user_beats_the_plugin(project, home, read):
    for folder, words in ((home, "of the user"), (project, "of the project")):
        put(folder, "x.md", f"---\nname: x\ndescription: {words}\n---\n")
    put(home, "Explore.md", "---\nname: Explore\ndescription: mine\n---\n", place=".claude")
    found = read()
    assert found.kinds["x"].description == "of the project"
    assert found.kinds["Explore"].description == "mine"


def test_an_untrusted_project_replaces_nothing_and_chooses_no_model(project, read):
    path = put(project, "Explore.md", "---\nname: Explore\ndescription: evil\n---\n")
    put(project, "new.md", "---\nname: new\ndescription: d\nmodel: dear\nbackground: true\ntools: Read\n---\n")
    found = read(trusted=False)
    assert found.kinds["Explore"] is REGISTERED["Explore"]
    assert (found.kinds["new"].model, found.kinds["new"].background) == (None, False)
    assert found.kinds["new"].tools == ("Read",)
    assert f"{path}:2: Explore is not used: an untrusted project cannot replace agents." in found.problems[0]
    assert len(found.problems) == 3


def test_an_untrusted_project_does_not_lead_elsewhere(project, home, read):
    secret = put(home, "x.txt", "---\nname: leak\ndescription: d\n---\nsecret")
    folder = project / ".pegboard/agents"
    folder.mkdir(parents=True)
    (folder / "leak.md").symlink_to(secret)
    found = read(trusted=False)
    assert "leak" not in found.kinds
    assert "Symbolic links are not followed" in found.problems[0]


def test_unknown_tools_and_circles_are_found(project, read):
    first = put(project, "a.md", "---\nname: a\ndescription: d\ntools: Read, Agent(b), mcp__x__*\n---\n")
    put(project, "b.md", "---\nname: b\ndescription: d\ntools: Agent(a)\n---\n")
    third = put(project, "c.md", "---\nname: c\ndescription: d\ntools: Raed, Bash(git *)\ndisallowedTools: Nope\n---\n")
    specifier = "'Bash(git *)' is not the name of a tool. To restrict what a tool may do, use permission rules."
    assert list(read().check({"Read", "Bash", "Agent"})) == [
        f"{third}:4: tools of c: there is no tool 'Raed'.",
        f"{third}:4: tools of c: {specifier}",
        f"{third}:5: disallowedTools of c: there is no tool 'Nope'.",
        f"{first}:4: These agents start each other in a cycle: a → b → a. Only the depth limit would stop it.",
    ]


def test_what_is_no_file_is_named_and_opens_nothing(project, read):
    folder = put(project, "a.md", "---\nname: a\ndescription: d\n---\n").parent
    os.mkfifo(folder / "pipe.md")
    before = len(os.listdir("/proc/self/fd"))
    assert read().problems == [f"{folder}/pipe.md:1: This is not a file."]
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_changes_is_read_again(project, read):
    path = put(project, "a.md", "---\nname: a\ndescription: one\n---\n")
    assert read().kinds["a"].description == "one"
    path.write_text("---\nname: a\ndescription: two\n---\n")
    assert read().kinds["a"].description == "two"


def test_more_files_than_are_read_are_said(project, read):
    for number in range(503):
        last = put(project, f"a{number:03}.md", f"---\nname: a{number}\ndescription: d\n---\n")
    found = read()
    assert len(found.kinds) == 500 + len(REGISTERED)
    [problem] = found.problems
    assert problem.startswith(f"{last.with_name('a500.md')}:1: There are more than 500 definitions here;")


def test_agents_that_all_start_each_other_are_told_of_in_no_time(project, read):
    names = [f"a{number}" for number in range(60)]
    for name in names:
        put(
            project,
            f"{name}.md",
            f"---\nname: {name}\ndescription: d\ntools: Agent({', '.join(set(names) - {name})})\n---\n",
        )
    circles = [problem for problem in read().check({"Agent"}) if "in a cycle" in problem]
    assert len(circles) == 59
    assert "a0 → a1 → a0" in circles[0]


def test_an_agent_that_starts_itself_is_a_circle(project, read):
    path = put(project, "a.md", "---\nname: a\ndescription: d\ntools: Task(a)\n---\n")
    [problem] = read().check({"Agent", "Task"})
    assert problem.startswith(f"{path}:4: These agents start each other in a cycle: a → a.")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("Read,Grep", ("Read", "Grep")),
        ("Read, Agent(a, b), Grep,", ("Read", "Agent(a, b)", "Grep")),
        ("Agent(a", ("Agent(a",)),
        (") , Read", (")", "Read")),
        ("''", ()),
    ],
)
def test_a_list_of_tools_is_split_at_commas_outside_of_parentheses(project, read, words, names):
    put(project, "a.md", f"---\nname: a\ndescription: d\ntools: {words}\n---\n")
    assert read().kinds["a"].tools == names


def test_doctor_names_every_bad_file_with_its_line(project, home):
    put(project, "yaml.md", "---\nname: a\ndescription: d\ntools: Read: now\n---\n")
    put(project, "bom.md", b"\xef\xbb\xbf---\nname: bom\ndescription: d\n---\n")
    put(project, "none.md", "---\nname: none\n---\n")
    put(project, "tools.md", "---\nname: tools\ndescription: d\ntools: Raed\n---\n")
    put(project, "one.md", "---\nname: same\ndescription: d\n---\n")
    put(project, "two.md", "---\nname: same\ndescription: d\n---\n", place=".claude")
    put(project, "x.md", "---\nname: x\ndescription: d\ntools: Agent(y)\n---\n")
    put(project, "y.md", "---\nname: y\ndescription: d\ntools: Agent(x)\n---\n")
    env = {**os.environ, "HOME": str(warm(home))}
    command = [sys.executable, "-m", "pegboard_cli", "doctor"]
    made = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=60)
    found = [line.split(str(project) + "/")[1].split(" ")[0] for line in made.stdout.splitlines() if ".md:" in line]
    files = ("bom.md:1:", "none.md:2:", "yaml.md:4:")
    expected = [*(f".pegboard/agents/{name}" for name in files), ".claude/agents/two.md:2:"]
    assert found == [*expected, ".pegboard/agents/tools.md:4:", ".pegboard/agents/x.md:4:"]
    assert made.returncode == 1


def test_a_line_separator_of_unicode_does_not_end_the_fields(project, read):
    put(project, "a.md", '---\nname: a\ndescription: "one\\u2028two"\n---\nFirst\u2028---\u2028second.\n')
    assert read().kinds["a"].prompt == "First\u2028---\u2028second."


def test_a_folder_of_hostile_files_costs_next_to_nothing(project, read):
    for number in range(50):
        put(project, f"{number}.md", f"---\nname: a\ndescription: b\ntools: {'[' * 15_000}\n---\n")
    began = time.process_time()
    assert len(read().problems) == 50
    assert time.process_time() - began < 2  # A second for each before.


SOFT = {
    "memory: auto": ("memory", ""),
    "memory: true": ("memory", ""),
    "effort: 3": ("effort", ""),
    "model: [opus, sonnet]": ("model", None),
    "mcpServers: github, linear": ("mcp_servers", {"github": {}, "linear": {}}),
    "hooks: []": ("hooks", {}),
    "isolation: none": ("isolation", ""),
    "isolation: false": ("isolation", ""),
    "maxTurns: '50'": ("max_turns", 50),
    "tools: All tools": ("tools", None),
    "tools: '*'": ("tools", None),
    "tools:": ("tools", None),
    "tools: []": ("tools", ()),
}


@pytest.mark.parametrize("field", SOFT)
def test_a_field_that_limits_nothing_may_be_wrong_and_the_agent_still_loads(project, read, field):
    put(project, "a.md", f"---\nname: a\ndescription: b\n{field}\n---\n")
    found = read(trusted=True)
    name, value = SOFT[field]
    assert getattr(found.kinds["a"], name) == value
    assert found.problems == []


@pytest.mark.parametrize("name", ["\u524d\u7aef", "revi\u0435wer", "\u0420\u0435\u0432\u044c\u044e"])
def test_a_name_in_another_script_gives_way_to_that_of_the_file(project, read, name):
    path = put(project, "front-end.md", f"---\nname: {name}\ndescription: b\n---\n")
    found = read()
    assert set(found.kinds) == {*REGISTERED, "front-end"}
    [problem] = found.problems
    assert problem.startswith(f"{path}:2: name must be 1 to 64 letters")
    assert problem.endswith("It is called front-end here.")
