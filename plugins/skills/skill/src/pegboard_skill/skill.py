"""Load a skill into the conversation."""

from __future__ import annotations

from pydantic import BaseModel

from pegboard import Context, Facts, Input, Part, Tool, ToolError
from pegboard.wording import did_you_mean
from pegboard_skill.discovery import key_of
from pegboard_skill.plugin import SERVICE
from pegboard_skill.skill_file import Skill as SkillFile
from pegboard_skill.skills import Skills

MOST_NAMED = 200


class SkillInput(Input):
    skill: str
    """The name of the skill."""
    args: str | None = None
    """Arguments for the skill, as on a command line."""


class SkillOutput(BaseModel):
    skill: str
    content: str
    """What the model reads: the instructions, or the report of the sub-agent that followed them."""


class Skill(Tool[SkillInput, SkillOutput]):
    """Load a skill: instructions for a particular task, written by the user, the project or a package.

    You are told which skills there are. Load one before you begin a task that it is for, then follow it.
    Some skills run on their own and return a report. A skill only the user may start, as /name, is refused.
    """

    search_hint = "skill instructions workflow how-to slash command"
    rule_subject = "namespaced"
    rule_parameter = "skill"
    open_world = False
    max_result_chars = None  # The text of a skill is cut at its own limit.

    def facts(self, args: SkillInput, ctx: Context, /) -> Facts:
        found = _find(args.skill, ctx)
        name = found.name if found else args.skill
        reason = _reason(found) if found else ""
        return Facts(
            read_only=not reason,
            concurrency_safe=not reason,
            open_world=False,
            parts=(Part(name, also=_readings(name, args), read_only=not reason),),
            reason=reason,
        )

    async def call(self, args: SkillInput, ctx: Context, /) -> SkillOutput:
        skills = ctx.service(SERVICE)
        found = skills.find(args.skill)
        if found is None or found.is_command:
            raise ToolError(_no_such_skill(args.skill, skills), code="not_found")
        if not found.head.for_model:
            reason = (
                f"Only the user may start the skill {found.name}, by typing /{found.slash}. Suggest it if it helps."
            )
            raise ToolError(reason, code="permission_denied")
        return SkillOutput(skill=found.name, content=await skills.use(found, args.args or "", ctx))

    def content(self, value: SkillOutput, /) -> str:
        return value.content

    def describe(self, args: SkillInput, /) -> str:
        return f"Use the skill {args.skill}{f' with {args.args}' if args.args else ''}"


def _find(name: str, ctx: Context) -> SkillFile | None:
    skills = ctx.services.others.get(SERVICE)
    return skills.find(name) if isinstance(skills, Skills) else None


def _readings(name: str, args: SkillInput) -> tuple[str, ...]:
    """What deny and ask rules see besides the name: with its arguments, and in other spellings."""
    also = [f"{name} {args.args}"] if args.args else []
    return tuple(dict.fromkeys((*also, *(word for word in (args.skill, key_of(name)) if word != name))))


def _reason(skill: SkillFile) -> str:
    """Why using a skill is more than reading it; empty where it is not."""
    does: list[str] = []
    if skill.grants:
        does.append(f"allow {', '.join(skill.grants)} without asking until the next prompt")
    if skill.head.runs_commands and skill.trusted:
        does.append("run the commands it contains, if rules allow them")
    if skill.head.hooks and skill.trusted:
        does.append("run its hooks from now on")
    return f"The skill {skill.name} would {' and '.join(does)}." if does else ""


def _no_such_skill(name: str, skills: Skills) -> str:
    known = [skill.name for skill in skills.listed()]
    if not known:
        return f"There is no skill {name!r}. No skills are available here."
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    return (
        f"There is no skill {name!r}.{did_you_mean(name, known)} The skills are {', '.join(known[:MOST_NAMED])}{more}."
    )
