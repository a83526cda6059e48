"""When schedules run, over simulated time: cron expressions, changes of the clock, lateness, missed times, the end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ToolError
from pegboard_schedule.clock import LONGEST_NAP
from pegboard_schedule.cron import check, in_words, times, zone_of
from pegboard_schedule.schedule import SHARE, Wanted
from pegboard_schedule.schedules import Limits, Schedules

BERLIN = "Europe/Berlin"
EXACT = Limits(most_late=0)


class SimulatedClock:
    """Whoever waits is there at once."""

    def __init__(self, start: str = "2026-03-02T00:00:00+00:00") -> None:
        self.time = datetime.fromisoformat(start).astimezone(UTC)

    def now(self) -> datetime:
        return self.time

    async def wait(self, until: datetime | None) -> None:
        await anyio.lowlevel.checkpoint()
        self.time = until if until and until > self.time else self.time + timedelta(seconds=LONGEST_NAP)

    def pass_by(self, **time: float) -> None:
        self.time += timedelta(**time)


@pytest.fixture
def anyio_backend() -> str:
    """One is enough: nothing here differs between the two."""
    return "asyncio"


TIMES = [
    ("*/15 * * * *", "2026-03-02T10:07", ["03-02T10:15", "03-02T10:30"]),
    ("0 9 * * 1-5", "2026-03-06T09:00", ["03-09T09:00", "03-10T09:00"]),
    ("0 9 * * MON-FRI", "2026-03-06T09:00", ["03-09T09:00", "03-10T09:00"]),
    ("0 0 1 * 1", "2026-03-02T00:00", ["03-09T00:00", "03-16T00:00"]),
    ("0 12 13 * 5", "2026-03-01T00:00", ["03-06T12:00", "03-13T12:00"]),
    ("0 0 L * *", "2026-03-02T00:00", ["03-31T00:00", "04-30T00:00"]),
    # In spring 02:30 does not exist on the 29th: it comes right after the gap. In autumn it comes twice, counts once.
    ("30 2 * * *", "2026-03-28T12:00", ["03-29T03:00", "03-30T02:30"]),
    ("30 2 * * *", "2026-10-24T12:00", ["10-25T02:30", "10-26T02:30"]),
    # Real time goes on in both.
    ("0 * * * *", "2026-03-29T01:30", ["03-29T03:00", "03-29T04:00"]),
    ("0 * * * *", "2026-10-25T01:30", ["10-25T02:00", "10-25T02:00"]),
]


@pytest.mark.parametrize(("cron", "after", "expected"), TIMES)
def test_the_next_times_in_a_zone_with_summer_time(cron, after, expected):
    zone = ZoneInfo(BERLIN)
    start = datetime.fromisoformat(after).replace(tzinfo=zone)
    found = [time.astimezone(zone) for time in islice(times(cron, start, zone), 2)]
    assert [f"{time:%m-%dT%H:%M}" for time in found] == expected
    assert found[0].astimezone(UTC) < found[1].astimezone(UTC)


REFUSED = [
    ("* * * *", "has 4 fields. It needs five"),
    ("0 0 9 * * *", "has 6 fields"),
    ("60 * * * *", "the minute is not valid"),
    ("* 24 * * *", "the hour is not valid"),
    ("* * 0 * *", "the day-of-month is not valid"),
    ("* * * 13 *", "the month is not valid"),
    ("* * * * 8", "the day-of-week is not valid"),
    ("*/0 * * * *", "the minute is not valid"),
    ("5-1 * * * *", "the minute is not valid"),
    ("@daily", "has 1 fields"),
    ("", "has 0 fields"),
    ("0 0 30 2 *", "the day-of-month is not valid"),
    ("* * */20 * 1L", "never comes"),
    ("0 " * 61, "at most 120"),
]


@pytest.mark.parametrize(("cron", "reason"), REFUSED)
def test_an_expression_that_cannot_be_used_is_refused_with_its_reason(cron, reason):
    assert reason in check(cron)
    with pytest.raises(ToolError):
        Schedules(SimulatedClock()).add(
            Wanted.model_construct(cron=cron, prompt="x", recurring=True, durable=False, timezone="")
        )


@settings(max_examples=300, deadline=None)
@given(st.text("0123456789*/-,#LWMONJAN? \t\nx", max_size=40))
def test_no_text_breaks_the_reading_of_expressions(text):
    if not check(text):
        assert next(times(text, datetime(2026, 1, 1, tzinfo=UTC), zone_of("UTC")))
        assert in_words(text)


FIELD = st.sampled_from(["*", "*/2", "5", "0,3", "1-4"])


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(FIELD, FIELD, st.sampled_from(["*", "1", "*/3"]), st.sampled_from(["*", "3", "10"]), FIELD).map(" ".join),
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31)).map(lambda time: time.replace(tzinfo=UTC)),
    st.sampled_from([BERLIN, "America/New_York", "Australia/Lord_Howe", "UTC"]),
)
def test_times_always_go_forward_and_fit_a_whole_minute(cron, after, zone):
    found = list(islice(times(cron, after, zone_of(zone)), 12))
    assert found == sorted(set(found))
    assert found[0] > after
    assert all(time.second == 0 for time in found)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["* * * * *", "*/10 * * * *", "0 9 * * *", "0 9,10 * * 1"]), st.integers(0, 2000))
def test_a_recurring_schedule_is_late_by_a_share_of_its_interval_and_no_more(cron, most):
    clock = SimulatedClock()
    made = Schedules(clock, Limits(most_late=most)).add(Wanted(cron=cron, prompt="x"))
    first, second = islice(times(cron, clock.now(), zone_of("")), 2)
    late = (made.due - first).total_seconds()
    assert 0 <= late <= min(most, (second - first).total_seconds() * SHARE)


async def ran(schedules: Schedules, count: int) -> list[str]:
    """When the next prompts came."""
    found: list[str] = []
    for _ in range(count):
        if await schedules.next_prompt() is None:
            break
        found.append(f"{schedules.clock.now():%m-%dT%H:%M}")
    return found


async def test_prompts_come_in_the_order_of_their_times():
    schedules = Schedules(SimulatedClock(), EXACT)
    schedules.add(Wanted(cron="0 */2 * * *", prompt="two", timezone="UTC"))
    schedules.add(Wanted(cron="0 3 * * *", prompt="once", recurring=False, timezone="UTC"))
    assert await ran(schedules, 4) == ["03-02T02:00", "03-02T03:00", "03-02T04:00", "03-02T06:00"]
    assert [found.prompt for found in schedules.all()] == ["two"], "what runs once is gone"


async def test_each_zone_has_its_own_nine_o_clock():
    schedules = Schedules(SimulatedClock(), Limits(most_late=0, timezone="Asia/Tokyo"))
    schedules.add(Wanted(cron="0 9 * * *", prompt="Tokyo", recurring=False))
    schedules.add(Wanted(cron="0 9 * * *", prompt="Berlin", recurring=False, timezone=BERLIN))
    assert await ran(schedules, 3) == ["03-02T08:00", "03-03T00:00"]
    with pytest.raises(ToolError, match="'Mars/Olympus' is not a time zone"):
        schedules.add(Wanted(cron="0 9 * * *", prompt="x", timezone="Mars/Olympus"))
    with pytest.raises(ToolError, match="is not a time zone"):
        schedules.add(Wanted(cron="0 9 * * *", prompt="x", timezone="../../etc/passwd"))


async def test_times_that_were_missed_count_once():
    clock = SimulatedClock()
    schedules = Schedules(clock, EXACT)
    schedules.add(Wanted(cron="*/5 * * * *", prompt="look", timezone="UTC"))
    clock.pass_by(hours=3, minutes=2)
    text = schedules.take_due()
    assert text is not None
    assert "due 2026-03-02 00:05 UTC and late):\n\nlook" in text
    assert schedules.take_due() is None
    assert schedules.next_due() == datetime(2026, 3, 2, 3, 5, tzinfo=UTC)


async def test_a_recurring_schedule_ends_after_a_week_and_one_that_runs_once_does_not():
    clock = SimulatedClock()
    schedules = Schedules(clock, EXACT)
    schedules.add(Wanted(cron="0 0 * * *", prompt="daily", timezone="UTC"))
    schedules.add(Wanted(cron="0 0 20 3 *", prompt="once", recurring=False, timezone="UTC"))
    assert await ran(schedules, 50) == [*(f"03-{day:02}T00:00" for day in range(3, 10)), "03-20T00:00"]
    with pytest.raises(ToolError, match=r"schedules of a session end 2026-03-27"):
        schedules.add(Wanted(cron="0 0 1 6 *", prompt="too late"))


def test_too_many_are_refused_and_unknown_ones_are_named():
    schedules = Schedules(SimulatedClock(), Limits(most=2))
    ids = [schedules.add(Wanted(cron="0 9 * * *", prompt="x")).id for _ in range(2)]
    with pytest.raises(ToolError, match="There are 2 schedules already, and at most 2 are kept") as refused:
        schedules.add(Wanted(cron="0 9 * * *", prompt="x"))
    assert refused.value.code == "too_large"
    with pytest.raises(ToolError, match="There is no schedule 'zzz'") as unknown:
        schedules.remove("zzz")
    assert all(key in unknown.value.message for key in ids)


def test_a_resumed_session_goes_on_with_what_is_left():
    clock, kept = SimulatedClock(), []
    schedules = Schedules(clock, EXACT, keep=lambda rows: kept.append(rows))
    schedules.add(Wanted(cron="0 * * * *", prompt="hourly", timezone="UTC"))
    schedules.add(Wanted(cron="30 0 * * *", prompt="once", recurring=False, timezone="UTC"))
    clock.pass_by(hours=5, minutes=10)
    again = Schedules(clock, EXACT)
    again.load([*kept[-1], {"id": "nonsense"}, {"cron": 1}])
    assert "once" in (again.take_due() or ""), "late, but once"
    assert again.take_due() is None, "the hours without a process are not made up for"
    assert again.next_due() == datetime(2026, 3, 2, 6, tzinfo=UTC)
    clock.pass_by(days=8)
    gone = Schedules(clock, EXACT)
    gone.load(kept[-1][:1])
    assert gone.all() == []


async def test_a_clock_that_jumps_back_runs_nothing_twice():
    clock = SimulatedClock()
    schedules = Schedules(clock, EXACT)
    schedules.add(Wanted(cron="*/10 * * * *", prompt="look", timezone="UTC"))
    assert await ran(schedules, 1) == ["03-02T00:10"]
    clock.time -= timedelta(minutes=5)
    assert await ran(schedules, 1) == ["03-02T00:20"]
