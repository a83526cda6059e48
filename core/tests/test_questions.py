"""What a tool asks the person in the middle of its call, with `put_question`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from pegboard import (
    Allow,
    Answer,
    Ask,
    Board,
    Call,
    Choice,
    Context,
    Deny,
    Event,
    FormField,
    Input,
    Question,
    Tool,
    hookimpl,
    put_question,
)
from pegboard.forms import fill
from pegboard.settings import Layer, Settings

COLOUR = FormField(
    "colour", "Which colour?", choices=(Choice("red"), Choice("blue", "Deep blue")), own_words="Another colour"
)
SIZES = FormField("sizes", "Which sizes?", choices=(Choice("S"), Choice("M")), multiple=True, default=["M"])


class Nothing(Input):
    pass


class Paint(Tool[Nothing, str]):
    """Ask for a colour."""

    read_only, open_world = True, False

    async def call(self, args: Nothing, ctx: Context, /) -> str:
        call = Call(ctx.call_id, self.name, {})
        question = Question(call, Ask("It asks.", layer="forced"), "Paint it", form=(COLOUR, SIZES), tool=self)
        answer = await put_question(question, ctx)
        if answer is None:
            return "no one"
        return str(answer.input) if isinstance(answer.decision, Allow) else answer.decision.reason


class Person:
    """Gives these answers, one after another, and keeps the events."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), list[Question]()
        self.events: list[dict[str, Any]] = []

    @hookimpl
    async def ask_user(self, question: Question) -> Any:
        self.asked.append(question)
        await anyio.sleep(0)
        return self.answers.pop(0)

    @hookimpl
    def observe(self, event: Event) -> None:
        if event.kind == "answered":
            self.events.append(dict(event.data))


async def ask(*people: Person, mode: str = "default", **settings: Any) -> Any:
    layers = [Layer("user", "settings.json", settings)] if settings else []
    made = Board(Settings(layers), [], plugins=people, tools=[Paint()], env={})
    return await made.dispatch(Call("1", "Paint", {}), made.context(mode=mode))


YES = Allow("Yes.", layer="ask")


async def test_an_answer_comes_back_with_the_form_filled_in():
    person = Person(Answer(YES, input={"colour": "green", "strange": 1}))
    assert (await ask(person)).text == "{'colour': 'green', 'sizes': ['M']}"
    [told] = person.events
    assert (told["id"], told["name"], told["decision"], told["asked_by"]) == ("1", "Paint", "allow", "forced")


async def test_who_does_not_want_to_answer_says_so():
    assert (await ask(Person(Deny("Not now.", layer="ask")))).text == "Not now."


async def test_a_yes_that_leaves_the_question_open_is_no_answer_and_the_next_is_asked():
    first, second = Person(YES), Person(Answer(YES, input={"colour": "red"}))
    assert (await ask(first, second)).text == "{'colour': 'red', 'sizes': ['M']}"


async def test_no_one_is_there():
    assert (await ask()).text == "no one"
    person = Person(None)
    assert (await ask(person)).text == "no one"
    assert (person.events[0]["unanswered"], person.events[0]["decision"]) == (True, "deny")


async def test_a_mode_that_asks_nothing_asks_nothing():
    person = Person(Answer(YES, input={"colour": "red"}))
    assert (await ask(person, mode="dontAsk")).text == "no one"
    assert person.asked == []


async def test_an_answer_that_does_not_fit_is_an_error():
    result = await ask(Person(Answer(YES, input={"colour": 3})))
    assert result.text.startswith("The answer does not fit the question. 'colour' must be of the kind text.")


async def test_the_time_of_a_call_stands_still_while_a_person_thinks():
    class Slow(Person):
        @hookimpl
        async def ask_user(self, question: Question) -> Any:
            await anyio.sleep(0.3)
            return Answer(YES, input={"colour": "red"})

    result = await ask(Slow(), timeouts={"*": 0.15})
    assert result.text == "{'colour': 'red', 'sizes': ['M']}"


async def test_a_cancelled_question_is_told():
    class Waiting(Person):
        @hookimpl
        async def ask_user(self, question: Question) -> Any:
            scope.cancel()
            await anyio.sleep_forever()

    person = Waiting()
    with anyio.CancelScope() as scope:
        await ask(person)
    assert person.events[0]["decision"] == "cancelled"


async def test_outside_of_a_call_there_is_no_one():
    question = Question(Call("1", "x", {}), Ask("?"), "?", form=(COLOUR,))
    assert await put_question(question, Context(Path("/"))) is None


MORE = FormField("more", "How many?", kind="integer", only_if=("colour", "red"))
PLAIN = (FormField("colour", "?", choices=(Choice("red"), Choice("blue"))), MORE)


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        ({"colour": "blue"}, {"colour": "blue"}),
        ({"colour": "blue", "more": 2}, {"colour": "blue"}),
        ({"colour": "red", "more": 2}, {"colour": "red", "more": 2}),
    ],
)
def test_a_field_is_asked_only_after_the_answer_that_calls_for_it(given, filled):
    assert fill(PLAIN, given) == filled


@pytest.mark.parametrize(
    ("form", "given", "words"),
    [
        (PLAIN, {}, "'colour' is not answered."),
        (PLAIN, {"colour": "red"}, "'more' is not answered."),
        (PLAIN, {"colour": "pink"}, "'colour' must be one of 'red' and 'blue', not 'pink'."),
        (PLAIN, {"colour": "red", "more": "2"}, "'more' must be of the kind integer."),
        (PLAIN, {"colour": "red", "more": True}, "'more' must be of the kind integer."),
        ((SIZES,), {"sizes": "S"}, "'sizes' must be a list."),
        ((SIZES,), {"sizes": []}, "'sizes' needs at least one choice."),
        ((SIZES,), {"sizes": ["S", "XL"]}, "'sizes' must be one of 'S' and 'M', not 'XL'."),
        ((COLOUR,), {"colour": ""}, "'colour' must not be empty."),
        ((FormField("on", "?", kind="boolean"),), {"on": "yes"}, "'on' must be a yes or no."),
    ],
)
def test_what_does_not_fit_a_form(form, given, words):
    with pytest.raises(ValueError, match=r".") as raised:
        fill(form, given)
    assert str(raised.value) == words
