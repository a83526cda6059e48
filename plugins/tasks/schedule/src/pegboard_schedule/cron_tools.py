"""Create, list and delete schedules."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pegboard import Ask, Context, Decision, Facts, Input, Tool
from pegboard_schedule.cron import LONGEST, check, in_words, zone_of
from pegboard_schedule.schedule import LONGEST_PROMPT, Schedule, Wanted
from pegboard_schedule.schedules import SERVICE, Schedules

SHOWN = 80
"""Characters of a prompt in a list."""


class CronCreateInput(Input):
    cron: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    """Five fields in local time: minute, hour, day of month, month, day of week. '0 9 * * 1-5' is 9:00 on weekdays."""
    prompt: Annotated[str, Field(min_length=1, max_length=LONGEST_PROMPT)]
    """What you will read at each time. Say all that is needed: you may remember little else."""
    recurring: bool = True
    """False for the next time only."""
    durable: bool = False
    """Keep it after this session. Only if the user has asked for that: the user must approve it."""
    timezone: Annotated[str, Field(max_length=80)] = ""
    """A zone such as Europe/Berlin, if it is not the local one."""


class CronRow(BaseModel):
    """A schedule. Names are spelled as in `humanSchedule` wherever this becomes JSON."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True)

    id: str
    cron: str
    human_schedule: str
    prompt: str
    recurring: bool
    durable: bool
    next_time: str
    """In the zone of the schedule."""
    expires: str | None = None

    @classmethod
    def of(cls, found: Schedule) -> CronRow:
        """The row of a schedule."""
        zone = zone_of(found.timezone)
        expires = f"{found.expires.astimezone(zone):%Y-%m-%d %H:%M}" if found.expires else None
        return cls(
            id=found.id,
            cron=found.cron,
            human_schedule=in_words(found.cron),
            prompt=found.prompt,
            recurring=found.recurring,
            durable=found.durable,
            next_time=f"{found.due.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}",
            expires=expires,
        )

    @property
    def line(self) -> str:
        """The row in one line."""
        kinds = ["" if self.recurring else "once", "durable" if self.durable else ""]
        kinds += [f"until {self.expires}" if self.expires else ""]
        about = "".join(f", {kind}" for kind in kinds if kind)
        return f"{self.id}  {self.cron}  next {self.next_time}{about}  {shortened(self.prompt)}"


class CronCreate(Tool[CronCreateInput, CronRow]):
    """Keep a prompt that comes back to you at the times of a cron expression, or once with recurring: false.

    It comes between turns: while you work, with the results of a turn; while you Sleep, it wakes you; when you are
    idle, as soon as the session can run it. Times that were missed count once. A recurring one may be up to a tenth of
    its interval late, and ends with the session, or after seven days.
    """

    read_only = True
    open_world = False
    subagents = False
    search_hint = "schedule cron timer remind later recurring every day at"

    def validate_input(self, args: CronCreateInput, /) -> str | None:
        return ("prompt is empty." if not args.prompt.strip() else check(args.cron)) or None

    def facts(self, args: CronCreateInput, ctx: Context, /) -> Facts:
        return Facts(read_only=not args.durable, open_world=False, reason="It would stay after this session.")

    def check_permission(self, args: CronCreateInput, ctx: Context, /) -> Decision | None:
        if not args.durable:
            return None
        # Held in every mode: a prompt that outlives the session is the person's own, never the model's.
        return Ask("A durable schedule stays after this session, until someone deletes it.", layer="forced")

    async def call(self, args: CronCreateInput, ctx: Context, /) -> CronRow:
        return CronRow.of(_schedules(ctx).add(Wanted(**args.model_dump())))

    def content(self, value: CronRow, /) -> str:
        until = f" It ends on {value.expires}." if value.expires else ""
        served = " It runs only while `pegboard run --serve-schedules` runs in this project." if value.durable else ""
        return f"Schedule {value.id}: {value.human_schedule}. Next: {value.next_time}.{until}{served}"

    def describe(self, args: CronCreateInput, /) -> str:
        how = "Keep the durable schedule" if args.durable else "Schedule"
        once = "" if args.recurring else " (once)"
        return f"{how} {args.cron}{once}: {shortened(args.prompt)}"

    def preview(self, args: CronCreateInput, ctx: Context, /) -> str | None:
        return f"{in_words(args.cron)}:\n{args.prompt}"

    def render_use(self, args: CronCreateInput, /) -> object | None:
        return _rendered(self.describe(args))


class CronListInput(Input):
    """Nothing."""


class CronListOutput(BaseModel):
    """All schedules."""

    jobs: list[CronRow]


class CronList(Tool[CronListInput, CronListOutput]):
    """List the schedules of this session and the durable ones of this project, each with its id and next time."""

    read_only = True
    concurrency_safe = True
    open_world = False
    subagents = False
    search_hint = "list schedules cron timers"

    async def call(self, args: CronListInput, ctx: Context, /) -> CronListOutput:
        return CronListOutput(jobs=[CronRow.of(found) for found in _schedules(ctx).all()])

    def content(self, value: CronListOutput, /) -> str:
        return "\n".join(row.line for row in value.jobs) or "There are no schedules."

    def render_result(self, value: CronListOutput, /) -> object | None:
        return _rendered(self.content(value))


class CronDeleteInput(Input):
    id: Annotated[str, Field(min_length=1, max_length=40)]
    """The id of the schedule, from CronCreate or CronList."""


class CronDelete(Tool[CronDeleteInput, CronRow]):
    """Delete a schedule."""

    open_world = False
    subagents = False
    search_hint = "delete cancel schedule cron timer"

    def facts(self, args: CronDeleteInput, ctx: Context, /) -> Facts:
        schedules = ctx.services.others.get(SERVICE)
        is_own = isinstance(schedules, Schedules) and args.id in {found.id for found in schedules.own()}
        return Facts(read_only=is_own, open_world=False, reason="The schedule may be a durable one.")

    async def call(self, args: CronDeleteInput, ctx: Context, /) -> CronRow:
        return CronRow.of(_schedules(ctx).remove(args.id))

    def content(self, value: CronRow, /) -> str:
        return f"Schedule {value.id} ({value.cron}) is deleted."

    def describe(self, args: CronDeleteInput, /) -> str:
        return f"Delete the schedule {args.id}"

    def render_use(self, args: CronDeleteInput, /) -> object | None:
        return _rendered(self.describe(args))


def shortened(text: str) -> str:
    """The beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _schedules(ctx: Context) -> Schedules:
    found: Schedules = ctx.service(SERVICE)
    return found


def _rendered(text: str) -> object | None:
    try:
        from rich.text import Text  # Only a terminal needs it, and not every host has it.
    except ImportError:
        return None
    return Text(text)
