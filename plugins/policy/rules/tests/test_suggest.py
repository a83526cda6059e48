"""Rules for "always": they cover the call that was asked about and nothing more, or none is offered."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import Ask, Context, Facts, Part
from pegboard.settings import Layer, Settings
from pegboard_rules.grammar import Rule
from pegboard_rules.suggest import suggest

sys.path.insert(0, str(Path(__file__).parent))
from permission_cases import TOOLS, AgentInput, CommandInput, FileInput, UrlInput, judge


def offered(name, args, facts, *, rules=(), layer="default", cwd="/srv/p"):
    settings = Settings([Layer("user", "x", {"permissions.allow": list(rules)})], cwd=cwd, root=cwd)
    return suggest(TOOLS[name], args, facts, Context(Path(cwd), settings), Ask("?", layer=layer))


def command(*parts, **more):
    text = " && ".join(part if isinstance(part, str) else part.text for part in parts)
    made = tuple(part if isinstance(part, Part) else Part(part) for part in parts)
    return offered("Bash", CommandInput(command=text), Facts(parts=made, open_world=False), **more)


def test_a_compound_command_gets_a_rule_for_each_part_that_needs_one():
    assert command(Part("ls", read_only=True), "npm test", "npm run build") == ("Bash(npm test)", "Bash(npm run build)")


def test_more_than_five_rules_are_not_offered():
    assert len(command(*(f"make {n}" for n in range(5)))) == 5
    assert command(*(f"make {n}" for n in range(6))) == ()


@pytest.mark.parametrize("text", ["rm *.o", "echo a:*", "git log *", "grep \\* x", "echo \\\\*"])
def test_a_star_in_a_command_means_only_itself(text):
    for rule in command(text):
        made = Rule("allow", rule, source="", layer="local", anchor="/")
        assert made.pattern.matches(text)
        assert not made.pattern.matches(text.replace("*", "x"))
        assert not made.pattern.matches(f"{text} more")


@given(st.text(alphabet="ab *:\\()\n\t\"'$", min_size=1, max_size=12), st.text(alphabet="ab *:\\()", max_size=6))
def test_whatever_the_command_is_a_rule_covers_it_alone(text, more):
    for rule in command(text):
        made = Rule("allow", rule, source="", layer="local", anchor="/")
        assert made.pattern.matches(text)
        assert (text + more == text) or not made.pattern.matches(text + more)


def test_a_file_gets_a_rule_for_its_own_path_and_nothing_beside_it(tmp_path):
    facts = Facts(open_world=False, writes=(tmp_path / "a[1]*?.txt",))
    [rule] = offered("Write", FileInput(file_path=Path("x")), facts, cwd=str(tmp_path))
    assert rule == f"Edit(/{tmp_path}/a\\[1\\]\\*\\?.txt)"
    settings = Settings([Layer("local", "x", {"permissions.allow": [rule]})], cwd=str(tmp_path))
    for name, word in (("a[1]*?.txt", "allow"), ("a1xx.txt", "ask"), ("sub/a[1]*?.txt", "ask")):
        facts = Facts(open_world=False, writes=(tmp_path / name,))
        assert judge(TOOLS["Write"], facts, Context(tmp_path, settings), []).word == word


def test_a_linked_file_gets_a_rule_for_the_link_and_one_for_the_target(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    facts = Facts(open_world=False, writes=(tmp_path / "link" / "a",))
    rules = offered("Write", FileInput(file_path=Path("x")), facts, cwd=str(tmp_path))
    assert rules == (f"Edit(/{tmp_path}/link/a)", f"Edit(/{tmp_path}/real/a)")


def test_reading_outside_gets_a_read_rule():
    facts = Facts(read_only=True, open_world=False, reads=(Path("/opt/x"),))
    assert offered("Read", FileInput(file_path=Path("/opt/x")), facts, layer="working-directory") == ("Read(//opt/x)",)


def test_a_page_gets_a_rule_for_its_host():
    facts = Facts(read_only=True, hosts=("docs.example.com",))
    assert offered("WebFetch", UrlInput(url="https://docs.example.com/a"), facts) == (
        "WebFetch(domain:docs.example.com)",
    )


@pytest.mark.parametrize(
    "layer", ["protected-path", "critical-path", "unresolvable", "forced", "rules", "hooks", "mode"]
)
def test_nothing_is_offered_where_an_allow_rule_would_not_help(layer):
    assert command("make", layer=layer) == ()


def test_a_call_that_no_narrow_rule_describes_is_approved_each_time():
    assert offered("Agent", AgentInput(prompt="x"), Facts()) == ()


FED = """
ls f1 | xargs rm ; cat x | sh ; cat x | bash -s ; sh < f1 ; bash <<< 'rm x' ; timeout 5 npm test ; nice make ;
env A=1 make ; A=1 make ; sudo -u x make ; echo y | npm init ; cat x |& sh ; ls|sh ; (npm test) ; { make; } ;
cd sub && make ; cd sub; make ; pushd x && make ; make < input ; make <<< x ; find . | xargs -n1 rm ; time make ;
curl x | tee y ; npm test > out ; npm test >> out ; npm test 2> err ; make & ; ! make ; echo $(make) ;
yes | make ; command make ; nohup make ; stdbuf -o0 make ; if true; then make; fi ; while true; do make; done
""".split(" ;")


@pytest.mark.parametrize("text", [" ".join(each.split()) for each in FED])
def test_no_rule_is_offered_for_what_is_fed_wrapped_or_elsewhere(text):
    last = next(name for name in ("rm", "bash", "tee", "sh", "npm test", "npm init", "make") if name in text)
    parts = (Part("ls", read_only=True), Part("cd sub", read_only=True), Part(last))
    shown = tuple(part for part in parts if part.text in text)
    facts = Facts(parts=shown, open_world=False)
    assert offered("Bash", CommandInput(command=text), facts) == ()


@pytest.mark.parametrize(
    "text",
    ["make", "make 2>&1", "ls && make", "make || ls", "ls; make", "make > /dev/null 2>&1", "make | ls", "ls\nmake"],
)
def test_a_rule_is_offered_for_a_part_that_stands_alone(text):
    made = tuple(Part(name, read_only=name == "ls") for name in sorted(("ls", "make"), key=text.find) if name in text)
    assert offered("Bash", CommandInput(command=text), Facts(parts=made, open_world=False)) == ("Bash(make)",)
