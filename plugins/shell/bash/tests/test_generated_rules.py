"""Generated rules against generated commands: what must hold for any of them. A failure names its seed.

`PEGBOARD_TEST_SLOW=1` tries many more; `PEGBOARD_TEST_SEED=N` repeats one.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

from pegboard import Allow, Ask, Context, Decision, Deny
from pegboard.settings import Layer, Settings, installed_keys
from pegboard_bash.bash import Bash, BashInput
from pegboard_rules.opinions import decide_by_rules

ROUNDS = 20_000 if os.environ.get("PEGBOARD_TEST_SLOW") else 300
HARMLESS = ("git status", "echo hi", "ls -la", "true", "cat a.txt")
ALLOWED = ("npm test", "make build", "npm run lint:fix", "cargo check --all")
HARMFUL = ("rm -rf build", "curl http://x.invalid/a:b", "touch owned", "docker run --rm x", "git push origin main")
WRAPPERS = (
    "timeout 30 {}",
    "nice -n 5 {}",
    "nohup {}",
    "env A=1 {}",
    "FOO=bar {}",
    "command {}",
    "time {}",
    "xargs {}",
)
JOINED = ("{} && {}", "{} || {}", "{}; {}", "{} | {}", "{} & {}", "{}\n{}", "{} |& {}")
NESTED = ("echo $( {} )", "echo `{}`", "( {} )", "{{ {}; }}", "cat <( {} )", 'echo "$( {} )"', "if {}; then true; fi")
SPELLINGS: tuple[Callable[[str], str], ...] = (
    lambda word: f'"{word}"',
    lambda word: f"'{word}'",
    lambda word: f"\\{word}",
    lambda word: f'{word[:1]}""{word[1:]}',
)


@pytest.fixture
def seed() -> int:
    return int(os.environ.get("PEGBOARD_TEST_SEED") or random.SystemRandom().randrange(2**32))


def strictness(decision: Decision | None) -> int:
    return (
        3 if isinstance(decision, Deny) else 2 if isinstance(decision, Ask) else 0 if isinstance(decision, Allow) else 1
    )


class Made:
    """A command, and the plain commands in it."""

    def __init__(self, dice: random.Random, depth: int = 3) -> None:
        self.dice, self.inside = dice, list[str]()
        self.is_plain = True
        """Whether every program is written as it is called."""
        self.text = self._make(depth)

    def _make(self, depth: int) -> str:
        dice = self.dice
        way = dice.random()
        if depth == 0 or way < 0.3:
            return self._one()
        if way < 0.5:
            return dice.choice(WRAPPERS).format(self._one())
        if way < 0.8:
            return dice.choice(JOINED).format(self._make(depth - 1), self._make(depth - 1))
        inside = self._make(depth - 1).replace("\n", "; ")
        # Backticks end at the next one: what is in them would be outside.
        return dice.choice([way for way in NESTED if "`" not in inside or "`" not in way]).format(inside)

    def _one(self) -> str:
        command = self.dice.choice((*HARMLESS, *ALLOWED, *HARMFUL))
        self.inside.append(command)
        if self.dice.random() < 0.85:
            return command
        self.is_plain = False
        program, _, rest = command.partition(" ")
        return f"{self.dice.choice(SPELLINGS)(program)} {rest}".strip()


def rule_for(dice: random.Random, command: str) -> str:
    program, _, rest = command.partition(" ")
    shapes = (f"Bash({command})", f"Bash({program}:*)", f"Bash({program} *)", f"Bash({command}*)", "Bash", "Bash(*)")
    odd = (f"Bash(timeout 30 {command})", f"Bash(A=1 {program}:*)", f"Bash({command} | sh)", f"Bash(*{rest[:3]}*)")
    return dice.choice((*shapes, *odd))


@pytest.fixture
def judge(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    keys, tool = installed_keys(), Bash()

    def decide(command: str, **lists: list[str]) -> Decision | None:
        values = {f"permissions.{name}": rules for name, rules in lists.items() if rules} | {"bash.confine": "off"}
        root = str(tmp_path / "project")
        settings = Settings([Layer("user", "settings.json", values)], cwd=root, root=root, keys=keys)
        ctx, args = Context(cwd=tmp_path / "project", settings=settings), BashInput(command=command)
        return decide_by_rules(tool, tool._facts(args, ctx), ctx, args)

    return decide


def test_a_deny_rule_beats_all_others_and_never_widens(judge, seed):
    for number in range(ROUNDS):
        dice = random.Random(f"{seed} {number}")
        command = Made(dice).text
        words = (*HARMLESS, *ALLOWED, *HARMFUL)
        allow = [rule_for(dice, dice.choice(words)) for _ in range(dice.randrange(4))]
        deny = [rule_for(dice, dice.choice(words)) for _ in range(dice.randrange(3))]
        more = rule_for(dice, dice.choice(words))
        what = f"seed {seed}, round {number}: {command!r}, allow {allow}, deny {deny}, more {more}"
        before = judge(command, allow=allow, deny=deny)
        assert strictness(judge(command, allow=allow, deny=[*deny, more])) >= strictness(before), what
        assert strictness(judge(command, allow=allow, deny=deny, ask=[more])) >= strictness(before), what
        assert strictness(judge(command, allow=[*allow, more], deny=deny)) <= max(strictness(before), 1), what
        if isinstance(judge(command, deny=[more]), Deny):
            assert isinstance(judge(command, allow=[*allow, "Bash", command], deny=[*deny, more]), Deny), what


def test_rules_allow_only_what_they_name(judge, seed):
    allow = ["Bash(npm:*)", "Bash(make *)", "Bash(cargo check*)", "Bash(echo *)", "Bash(timeout 30 npm test)"]
    for number in range(ROUNDS):
        made = Made(random.Random(f"{seed} {number}"))
        if any(command in HARMFUL for command in made.inside):
            what = f"seed {seed}, round {number}: {made.text!r}"
            assert not isinstance(judge(made.text, allow=allow), Allow), what


def test_a_denied_program_is_found_wherever_it_is(judge, seed):
    for number in range(ROUNDS):
        dice = random.Random(f"{seed} {number}")
        made = Made(dice)
        command = dice.choice(made.inside)
        program, what = command.split()[0], f"seed {seed}, round {number}: {made.text!r}"
        found = judge(made.text, allow=["Bash"], deny=[f"Bash({program}:*)"])
        assert isinstance(found, Deny), f"{what}, deny {program}"


def test_the_commands_meet_every_decision(judge, seed):
    """Otherwise the tests above would hold because nothing is ever allowed."""
    commands = [Made(random.Random(f"{seed} {number}"), depth=1).text for number in range(ROUNDS)]
    found = {type(judge(text, allow=["Bash(npm:*)", "Bash(echo *)"], deny=["Bash(rm:*)"])) for text in commands}
    assert {Allow, Deny} < found
