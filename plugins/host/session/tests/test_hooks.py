"""Every hook at work, through a real board: the examples of the reference, and how answers combine."""

from dataclasses import replace
from datetime import datetime

import anyio
import anyio.lowlevel
import pytest

import pegboard_processes
import pegboard_rules
from pegboard import (
    After,
    Allow,
    Answer,
    Ask,
    Before,
    Board,
    Call,
    Context,
    DefinitionError,
    Deny,
    Facts,
    Input,
    PluginError,
    ProcessSpec,
    Profile,
    Text,
    hookimpl,
    tool,
)
from pegboard.settings import Layer, Settings
from pegboard_session import (
    AgentDefinition,
    Prompted,
    ReplayProvider,
    Session,
    find_agents,
    find_providers,
    registered_agents,
)


class EchoInput(Input):
    text: str
    limit: int | None = None


@tool(read_only=True, concurrency_safe=True, open_world=False)
async def Echo(args: EchoInput, ctx: Context) -> str:
    """Say it again.

    Twice if you like.
    """
    return args.text


@tool()
async def Change(args: EchoInput, ctx: Context) -> str:
    """Change something."""
    return f"changed {args.text}"


def board(*plugins):
    return Board(Settings(), [], plugins=plugins, tools=[Echo, Change], env={})


async def say(board, text="hi", name="Echo", **more):
    return await board.dispatch(Call("1", name, {"text": text, **more}))


async def test_register_tools_of_an_application_plugin_are_on_the_board():
    @tool(read_only=True, open_world=False)
    def Clock(args: EchoInput, ctx: Context) -> str:
        """Tell the time."""
        return "noon"

    class Plugin:
        @hookimpl
        def register_tools(self):
            return [Clock]

    made = board(Plugin())
    assert made.pool.names == ["Change", "Clock", "Echo"]
    assert (await say(made, name="Clock")).text == "noon"


def test_register_providers_and_agents_are_collected_by_name():
    class Parrot:
        name = "parrot"

    class Plugin:
        @hookimpl
        def register_providers(self):
            return [Parrot()]

        @hookimpl
        def register_agents(self):
            return [AgentDefinition("reviewer", "Reads a change.")]

    made = board(Plugin())
    assert list(find_providers(made)) == ["parrot"]
    assert registered_agents(made)["reviewer"].description == "Reads a change."


def test_find_agents_adds_what_somebody_has_written_down():
    class Plugin:
        @hookimpl
        def register_agents(self):
            return [AgentDefinition("reviewer", "Of a plugin."), AgentDefinition("scribe", "Of a plugin.")]

        @hookimpl
        def find_agents(self, settings, registered):
            return {"scribe": AgentDefinition("scribe", f"Better than {len(registered)} others.")}

    found = find_agents(board(Plugin()))
    assert found["reviewer"].description == "Of a plugin."
    assert found["scribe"].description == f"Better than {len(found)} others."


def test_tool_sources_are_asked_again_only_when_their_version_moves():
    class Source:
        name, version, asked, offered = "source", 1, 0, [Echo]

        def tools(self):
            self.asked += 1
            return self.offered

    source, events = Source(), []

    class Plugin:
        @hookimpl
        def tool_sources(self, settings):
            assert isinstance(settings, Settings)
            return [source]

        @hookimpl
        def observe(self, event):
            events.append((event.kind, dict(event.data)))

    made = Board(Settings(), [], plugins=[Plugin()], env={})
    assert made.pool.names == ["Echo"]
    made.refresh()
    assert source.asked == 1
    source.version, source.offered = 2, [Change]
    assert made.refresh().names == ["Change"]
    assert events[-1] == ("tools_updated", {"version": 2, "added": ["Change"], "removed": ["Echo"], "changed": []})
    source.version, source.offered = 3, None
    assert made.refresh().names == ["Change"]
    assert events[-1][0] == "refresh_failed"


def test_edit_definition_rewords_for_a_model_and_may_not_rename():
    class Short:
        @hookimpl
        def edit_definition(self, definition, profile):
            if profile.model.startswith("small-"):
                return {**definition, "description": definition["description"].split("\n")[0]}
            return None

    made = board(Short())
    assert made.definitions(Profile("small-1"))[1]["description"] == "Say it again."
    assert "Twice" in made.definitions(Profile("large-1"))[1]["description"]

    class Rename:
        @hookimpl
        def edit_definition(self, definition):
            return {**definition, "name": "Other"}

    with pytest.raises(DefinitionError, match="renamed Change to 'Other'"):
        board(Rename()).definitions()


async def test_validate_input_refuses_with_its_sentence():
    class Plugin:
        @hookimpl
        def validate_input(self, tool, args):
            if tool.name == "Echo" and args.text == "secret":
                return "Secrets are not repeated."
            return None

    result = await say(board(Plugin()), "secret")
    assert (result.is_error, result.code, result.text) == (True, "invalid_input", "Echo: Secrets are not repeated.")
    assert not (await say(board(Plugin()), "fine")).is_error


async def test_before_call_rewrites_the_input_which_is_validated_again():
    class Plugin:
        @hookimpl
        async def before_call(self, call, args):
            if call.name == "Echo" and args.limit is None:
                return Before(input={"text": args.text.upper(), "limit": 500}, context="Made loud.")
            return None

    result = await say(board(Plugin()))
    assert [block.text for block in result.content] == ["HI", "Made loud."]

    class Breaks:
        @hookimpl
        def before_call(self):
            return Before(input={"words": 1})

    assert (await say(board(Breaks()))).code == "invalid_input"


async def test_a_rewrite_voids_every_earlier_allow_but_not_a_deny():
    class Approves:
        @hookimpl(priority=-1)
        def before_call(self, args):
            return Before(decision=Allow("fine")) if args.text == "harmless" else None

    class Denies:
        @hookimpl(priority=-1)
        def before_call(self):
            return Before(decision=Deny("no"))

    class Rewrites:
        @hookimpl(priority=1)
        def before_call(self):
            return Before(input={"text": "harmful"})

    assert (await say(board(Approves()), "harmless", name="Change")).text == "changed harmless"
    assert (await say(board(Approves(), Rewrites()), "harmless", name="Change")).code == "permission_denied"
    assert (await say(board(Denies(), Rewrites()))).code == "permission_denied"


async def test_check_permission_asks_everyone_and_the_strictest_counts():
    def opinion(decision):
        class Plugin:
            @hookimpl
            async def check_permission(self, tool, args, ctx):
                return decision

        return Plugin()

    for order in ([Allow("a"), Deny("d"), Ask("q"), None], [None, Ask("q"), Allow("a"), Deny("d")]):
        result = await say(board(*map(opinion, order)))
        assert (result.decision.word, result.decision.reason) == ("deny", "d")
    assert (await say(board(opinion(Allow("a"))), name="Change")).text == "changed hi"
    assert (await say(board(opinion(Allow("a")), opinion(Ask("q"))))).code == "permission_denied"


@pytest.mark.parametrize("hook", ["before_call", "check_permission"])
async def test_a_guard_that_crashes_denies(hook, caplog):
    def crash(self):
        raise RuntimeError("boom")

    crash.__name__ = hook
    plugin = type("Plugin", (), {hook: hookimpl(crash)})()
    result = await say(board(plugin))
    assert result.code == "permission_denied"
    assert f"{hook} of application:0 failed: RuntimeError." in result.text
    assert result.decision.source == f"{hook} of application:0"


async def test_ask_user_takes_the_first_answer_and_nobody_means_no():
    seen = []

    class Silent:
        @hookimpl(priority=-1)
        async def ask_user(self, question, call):
            seen.append((question.description, question.decision.reason, call.id))

    class Yes:
        @hookimpl
        def ask_user(self, question):
            return Allow("by hand")

    assert (await say(board(Silent(), Yes()), name="Change")).text == "changed hi"
    assert seen == [('Change text="hi"', "Change can change something.", "1")]
    refused = await say(board(Silent()), name="Change")
    assert "There was no one to approve it." in refused.text


async def test_classify_call_is_asked_last_and_only_in_auto_mode():
    asked = []

    class Plugin:
        @hookimpl
        async def classify_call(self, tool, args):
            asked.append(tool.name)
            return Allow("A harmless name.")

    made = board(Plugin(), pegboard_rules)
    assert (await say(made, name="Change")).code == "permission_denied"
    assert asked == []
    result = await made.dispatch(Call("1", "Change", {"text": "x"}), made.context(mode="auto"))
    assert (result.text, result.decision.layer, asked) == ("changed x", "classifier", ["Change"])
    await made.dispatch(Call("1", "Echo", {"text": "x"}), made.context(mode="auto"))
    assert asked == ["Change"]


async def test_wrap_execute_is_composed_once_with_the_first_plugin_outermost():
    made, order = [], []

    def wrapper(name, rank):
        class Plugin:
            @hookimpl(priority=rank)
            def wrap_execute(self, tool, execute):
                made.append((name, tool.name))
                if tool.name != "Echo":
                    return None

                async def around(args, ctx):
                    order.append(f"{name} in")
                    value = await execute(args, ctx)
                    order.append(f"{name} out")
                    return value

                return around

        return Plugin()

    on = board(wrapper("inner", 5), wrapper("outer", -5))
    for _ in range(3):
        assert (await say(on)).text == "hi"
    assert order[:4] == ["outer in", "inner in", "inner out", "outer out"]
    assert sorted(made) == [("inner", "Echo"), ("outer", "Echo")]


async def test_after_call_may_replace_the_value_and_add_a_remark():
    class Plugin:
        @hookimpl
        async def after_call(self, call, value, ctx):
            if "PRIVATE KEY" in value:
                return After("(withheld)", replaces=True, context="A key was withheld.")
            return None

    result = await say(board(Plugin()), "PRIVATE KEY")
    assert [block.text for block in result.content] == ["(withheld)", "A key was withheld."]
    assert result.value == "(withheld)"


async def test_a_failing_after_call_hook_withholds_the_result_and_takes_the_blame(caplog):
    class Plugin:
        @hookimpl
        def after_call(self, value):
            raise KeyError(value)

    result = await say(board(Plugin()), "secret")
    assert result.is_error
    assert result.text.startswith("Echo ran, but its result is withheld: an after_call hook failed: KeyError.")


async def test_serialize_result_words_a_value_for_the_model():
    @tool(read_only=True, open_world=False)
    def Now(args: EchoInput, ctx: Context) -> datetime:
        """Tell the time."""
        return datetime(2026, 1, 2)

    class Plugin:
        @hookimpl
        def serialize_result(self, tool, value):
            return [Text(value.isoformat())] if isinstance(value, datetime) else None

    made = Board(Settings(), [], plugins=[Plugin()], tools=[Now], env={})
    assert (await say(made, name="Now")).text == "2026-01-02T00:00:00"


async def test_observe_is_told_everything_and_cannot_hurt(caplog):
    seen = []

    class Crashes:
        @hookimpl(priority=-1)
        def observe(self, event):
            raise RuntimeError("boom")

    class Listens:
        @hookimpl
        def observe(self, event):
            seen.append(event.kind)

    assert (await say(board(Crashes(), Listens()))).text == "hi"
    assert seen == ["call_started", "decided", "call_finished"]


def test_wrap_process_is_bound_like_any_other_hook():
    class Nice:
        @hookimpl
        def wrap_process(self, spec):
            return replace(spec, argv=("nice", *spec.argv))

    assert len(board(Nice()).hooks.wrap_process) == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("@hookimpl(wrapper=True)\n    def check_permission(self, tool): yield", "is a hook wrapper. It would see"),
        ("@hookimpl(wrapper=True)\n    def register_tools(self): yield", "is a hook wrapper. Pegboard calls hooks"),
        ("@hookimpl\n    async def register_tools(self): ...", "is an async def, but register_tools is not awaited"),
        ("@hookimpl\n    def chek_permission(self): ...", "is not a hook. Did you mean 'check_permission'?"),
        ("@hookimpl\n    def observe(self, evnt): ...", "asks for 'evnt'; observe offers event."),
        ("@hookimpl\n    def observe(self, **kw): ...", "takes *kw. Name the parameters it needs."),
    ],
)
def test_traps_are_refused_with_what_to_write_instead(body, words):
    scope = {"hookimpl": hookimpl}
    exec(f"class Plugin:\n    {body}\n", scope)
    with pytest.raises(PluginError) as caught:
        board(scope["Plugin"]())
    assert words in str(caught.value)


def test_two_boards_share_nothing():
    class Plugin:
        @hookimpl
        def observe(self, event): ...

    assert len(board(Plugin()).hooks.observe) == 1
    assert len(board().hooks.observe) == 0


def replayed(*turns):
    return ReplayProvider([{"content": list(blocks)} for blocks in turns])


def words(text):
    return {"type": "text", "text": text}


def use(name, **given):
    return {"type": "tool_use", "name": name, "input": given}


def said(message):
    return [block["text"] for block in message["content"] if block["type"] == "text"]


async def test_start_session_and_submit_prompt_add_to_the_first_message():
    seen = []

    class Plugin:
        @hookimpl
        async def start_session(self, session_id, source, transcript, ctx):
            seen.append((session_id, source, transcript))
            ctx.report("Good morning.")
            return "The branch is main."

        @hookimpl
        def submit_prompt(self, prompt, ctx):
            return Prompted(context=f"({len(prompt)} characters)")

    class Crashes:
        @hookimpl(priority=-1)
        def start_session(self):
            raise RuntimeError("boom")

    class Listens:
        @hookimpl
        def observe(self, event):
            if event.kind == "notice":
                seen.append(event.data["message"])

    provider = replayed([words("Hello.")], [words("Bye.")])
    async with Session(board(Crashes(), Plugin(), Listens()), provider, session_id="s1") as session:
        await session.run("Hi")
        await session.run("Again")
    assert said(session.messages[0]) == ["The branch is main.", "Hi", "(2 characters)"]
    assert said(session.messages[2]) == ["Again", "(5 characters)"]
    assert seen == [("s1", "startup", None), "Good morning."]


async def test_submit_prompt_keeps_a_prompt_from_the_model_and_fails_closed():
    class Plugin:
        @hookimpl
        def submit_prompt(self, prompt):
            if prompt == "crash":
                raise RuntimeError("boom")
            return Prompted(block="There is a key in it.") if "KEY" in prompt else None

    provider = replayed([words("Hello.")])
    async with Session(board(Plugin()), provider) as session:
        kept = await session.run("PRIVATE KEY")
        failed = await session.run("crash")
        taken = await session.run("fine")
    assert (kept.stopped_by, kept.text, kept.turns) == ("blocked", "There is a key in it.", 0)
    assert (failed.stopped_by, failed.text) == ("blocked", "A submit_prompt hook failed: RuntimeError.")
    assert taken.text == "Hello."
    assert [said(message) for message in session.messages] == [["fine"], ["Hello."]]


async def test_before_stop_sends_the_model_back_to_work_within_the_limit_of_turns():
    reasons = ["There is more to do."]

    class Plugin:
        @hookimpl
        async def before_stop(self, text, ctx):
            return reasons.pop() if reasons else None

    provider = replayed([words("Done.")], [words("Really done.")])
    async with Session(board(Plugin()), provider) as session:
        outcome = await session.run("Go")
    assert (outcome.text, outcome.turns) == ("Really done.", 2)
    assert said(session.messages[2]) == ["There is more to do."]

    class Never:
        @hookimpl
        def before_stop(self):
            return "More."

    async with Session(board(Never()), replayed(*[[words("Done.")]] * 3), max_turns=3) as session:
        assert (await session.run("Go")).stopped_by == "max_turns"


async def test_an_interrupt_ends_a_hook_that_keeps_the_prompt_waiting():
    began = anyio.Event()

    class Plugin:
        @hookimpl
        async def submit_prompt(self, prompt):
            began.set()
            await anyio.sleep_forever()

    async with Session(board(Plugin()), replayed()) as session, anyio.create_task_group() as group:

        async def interrupt():
            await began.wait()
            session.interrupt()

        group.start_soon(interrupt)
        outcome = await session.run("Go")
    assert (outcome.stopped_by, session.messages) == ("interrupted", [])


async def test_end_session_is_told_once_and_before_the_services_close():
    seen = []

    class Plugin:
        @hookimpl
        async def end_session(self, session_id, reason, ctx):
            ctx.background.start("note", anyio.lowlevel.checkpoint)
            seen.append((session_id, reason))

    async with Session(board(Plugin()), replayed(), session_id="s1"):
        pass
    with pytest.raises(ZeroDivisionError):
        async with Session(board(Plugin()), replayed(), session_id="s2"):
            raise ZeroDivisionError
    assert seen == [("s1", "finished"), ("s2", "broken off")]


async def test_a_session_cancelled_while_it_opens_leaves_nothing_open():
    class Plugin:
        @hookimpl
        async def start_session(self, ctx):
            self.background = ctx.background
            scope.cancel()
            await anyio.sleep_forever()

    plugin = Plugin()
    with anyio.CancelScope() as scope:
        async with Session(board(plugin), replayed()):
            raise AssertionError("it must not open")
    with pytest.raises(RuntimeError, match="not open"):
        plugin.background.start("late", anyio.lowlevel.checkpoint)


async def test_after_failure_sees_failed_and_denied_calls_and_says_which():
    seen = []

    class Plugin:
        @hookimpl
        async def after_failure(self, tool, call, args, result, ctx):
            seen.append((tool and tool.name, args and args.text, result.code, isinstance(result.decision, Deny)))
            return After(context=f"{call.name} did not work.")

    class Crashes:
        @hookimpl(priority=-1)
        def after_failure(self):
            raise RuntimeError("boom")

    made = board(Crashes(), Plugin())
    denied = await say(made, name="Change")
    assert [block.text for block in denied.content][-1] == "Change did not work."
    await made.dispatch(Call("1", "Echo", {"text": 1}))
    await made.dispatch(Call("1", "Nothing", {}))
    await say(made)
    assert seen == [
        ("Change", "hi", "permission_denied", True),
        ("Echo", None, "invalid_input", False),
        (None, None, "not_found", False),
    ]


@pytest.mark.parametrize("where", ["before_call", "after_call", "after_failure"])
async def test_a_hook_may_end_the_conversation_after_a_turn(where):
    class Plugin:
        @hookimpl
        def before_call(self, call):
            return Before(decision=Deny("no"), stop="Enough.") if where == "before_call" and call.id == "a" else None

        @hookimpl
        def after_call(self, call):
            return After(stop="Enough.") if where == "after_call" and call.id == "a" else None

        @hookimpl
        def after_failure(self, call):
            return After(stop="Enough.") if where == "after_failure" and call.id == "a" else None

    name = "Change" if where == "after_failure" else "Echo"
    provider = replayed([use(name, text="one") | {"id": "a"}], [words("never asked")])
    async with Session(board(Plugin()), provider) as session:
        outcome = await session.run("Go")
    assert (outcome.stopped_by, outcome.text, len(provider.requests)) == ("hook", "Enough.", 1)


async def test_an_answer_may_bring_another_input_which_is_judged_again():
    class Hook:
        @hookimpl(priority=-1)
        def ask_user(self, question, call, ctx):
            return Answer(Allow("yes"), {"text": question.args.text.upper()})

    asked = []

    class Person:
        @hookimpl
        def ask_user(self, question):
            asked.append(question.input["text"])
            return Allow("by hand")

    def ruled(**rules):
        layer = Layer("user", "test", {f"permissions.{kind}": value for kind, value in rules.items()})
        return Board(Settings([layer]), [], plugins=[Hook(), Person(), pegboard_rules], tools=[Echo, Change], env={})

    assert (await say(ruled(), name="Change")).text == "changed HI"
    assert asked == []
    assert (await say(ruled(ask=["Change(text:HI)"]), name="Change")).text == "changed HI"
    assert asked == ["HI"]
    refused = await say(ruled(deny=["Change(text:HI)"]), name="Change")
    assert (refused.code, refused.decision.rule) == ("permission_denied", "Change(text:HI)")


async def test_an_answer_cannot_make_a_harmless_call_a_harmful_one():
    @tool(facts=lambda args, ctx: Facts(read_only=args.text == "look", concurrency_safe=args.text == "look"))
    async def Either(args: EchoInput, ctx: Context) -> str:
        """Look or change."""
        return args.text

    class Hook:
        @hookimpl
        def ask_user(self):
            return Answer(Allow("yes"), {"text": "change"})

    made = Board(Settings(), [], plugins=[Hook()], tools=[Either], env={})
    result = await say(made, "look", name="Either")
    assert "would make Either do more than was approved" in result.text


async def test_wrap_process_holds_for_what_a_hook_starts(tmp_path):
    wrapped = []

    class Sandbox:
        @hookimpl
        def wrap_process(self, spec):
            wrapped.append(spec.argv)

    class Hook:
        @hookimpl
        async def before_call(self, ctx):
            await ctx.processes.run(ProcessSpec(("true",), tmp_path))

    await say(board(Sandbox(), Hook(), pegboard_processes))
    assert wrapped == [("true",)]


def test_diagnose_is_bound_and_takes_settings():
    class Plugin:
        @hookimpl
        def diagnose(self, settings):
            return [f"Nothing is wrong in {settings.cwd}."]

    (hook,) = board(Plugin()).hooks.diagnose
    assert hook(Settings(cwd="/")) == ["Nothing is wrong in /."]
