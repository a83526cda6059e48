"""The skills of one session: which there are, what the model was told about them, and which it has used."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from pegboard import Context, Settings
from pegboard.permission import split_rule
from pegboard_session import announce_later
from pegboard_skill.discovery import COMMANDS, SKILLS, Catalogue, discover, key_of
from pegboard_skill.grants import Grants
from pegboard_skill.skill_file import Skill
from pegboard_skill.skill_list import INTRODUCTION, lines_for
from pegboard_skill.skill_turn import SkillTurn
from pegboard_skill.use import lent_to, run_in_agent, text_of

if TYPE_CHECKING:
    from pegboard_session import Session

TOOL = "Skill"
LINE, USED_LINE = "skills", "skill"
"""The kinds of lines in a transcript: what the model was told, and what it has used."""
KEPT_EACH, KEPT_ALL = 20_000, 100_000
"""Characters of skills that are shown again after a summary."""


class Skills:
    """`ctx.service("skills")` is one."""

    def __init__(self, session: Session, env: Mapping[str, str] | None = None) -> None:
        self._session, self._env = session, os.environ if env is None else env
        self.is_enabled: bool = bool(session.board.settings.get("skills.enabled"))
        self.grants = Grants()
        self._told: dict[str, str] = {}
        self._used: dict[str, str] = {}
        self._folders: dict[str, None] = {}
        self._touched: dict[str, None] = {}
        self._is_new_ground = False
        for line in session.restored.lines:
            self._go_on_from(line)
        self._turn = SkillTurn(session)
        self._lent = lent_to(session)
        if self._lent:
            self.grants.expect(None, self._lent, session.board.settings)

    def _go_on_from(self, line: Mapping[str, Any]) -> None:
        """What an earlier process has told, by a line that may have been changed by hand."""
        if line["type"] == LINE:
            told, folders, touched = (line.get(name) for name in ("told", "folders", "touched"))
            self._told = {str(name): str(digest) for name, digest in told.items()} if isinstance(told, dict) else {}
            self._folders |= dict.fromkeys(map(str, folders if isinstance(folders, list) else ()))
            self._touched |= dict.fromkeys(map(str, touched if isinstance(touched, list) else ()))
        elif line["type"] == USED_LINE and isinstance(line.get("text"), str):
            self._used[str(line.get("name"))] = line["text"]

    def catalogue(self) -> Catalogue:
        """All skills and commands as they are now."""
        if not self.is_enabled:
            return Catalogue()
        return discover(self._session.ctx.settings, self._env, self._folders)

    def visit(self, path: str) -> None:
        """A file was touched: the skills of its folder, and those for such files, come into play."""
        root = os.path.realpath(self._session.ctx.settings.root)
        if not self.is_enabled or path in self._touched or not path.startswith(os.path.join(root, "")):
            return
        self._touched[path] = None
        self._is_new_ground = True
        folder = os.path.dirname(path)
        while folder.startswith(os.path.join(root, "")) and folder not in self._folders:
            if any(os.path.isdir(os.path.join(folder, name)) for name in (*SKILLS, *COMMANDS)):
                self._folders[folder] = None
            folder = os.path.dirname(folder)

    def news(self, moment: str) -> list[str]:
        """What the next user message has to say about skills; afterwards it counts as said."""
        if not self.is_enabled or (moment != "prompt" and not self._is_new_ground):
            return []
        self._is_new_ground = False
        skills = self.listed()
        now = {skill.name: _digest(skill.head.description) for skill in skills}
        if now == self._told:
            return []
        new = [skill for skill in skills if self._told.get(skill.name) != now[skill.name]]
        gone = [name for name in self._told if name not in now]
        words: list[str] = []
        if new:
            budget = self._session.ctx.settings.get("skills.listingChars")
            head = "New or changed skills for the tool Skill:" if self._told else INTRODUCTION
            words.append("\n".join([head, *lines_for(new, budget - len(head))]))
        if gone:
            words.append(f"These skills no longer exist: {', '.join(gone)}")
        for skill in new if self._told else ():
            about = {"source": "skills", "file_path": skill.path}
            announce_later("ConfigChange", about, self._session.ctx)
        self._told = now
        self._session.write(LINE, told=now, folders=list(self._folders), touched=list(self._touched))
        return words

    def listed(self) -> list[Skill]:
        """The skills that the model may use, where it has the tool for them."""
        session = self._session
        if session.board.pool.get(TOOL) is None:
            return []
        found = [skill for skill in self.catalogue() if skill.head.for_model and not skill.is_command]
        denied = _denied(session.ctx.settings)
        found = [skill for skill in found if not denied(skill) and self._applies(skill)]
        return sorted(found, key=lambda skill: skill.name)

    def _applies(self, skill: Skill) -> bool:
        """Whether a skill for certain files is of use: one of them was touched."""
        if not skill.head.paths:
            return True
        from pegboard_ignore import GlobError, Matcher  # Few skills have conditions.

        root = self._session.ctx.settings.root
        for glob in skill.head.paths:
            try:
                matcher = Matcher(glob.removeprefix("/"))
            except GlobError:
                return True  # What cannot be read limits nothing; `doctor` says so.
            for path in self._touched:
                folder, name = os.path.split(os.path.relpath(path, root))
                if matcher.pick(os.path.join(folder, "") if folder else "", [name]):
                    return True
        return False

    def find(self, name: str) -> Skill | None:
        """The skill or command with this name."""
        return self.catalogue().find(name)

    def begin_with(self, skill: Skill, prompt: str, ctx: Context) -> None:
        """A person uses a skill with the prompt that is about to be sent."""
        self.grants.expect(prompt, skill, ctx.settings)
        self._turn.expect(prompt, skill)

    def begin_prompt(self, prompt: str) -> None:
        """A prompt was sent: what the skills of the last turn said about it no longer counts."""
        self.grants.begin_prompt(prompt)
        if self._lent:
            self._turn.use(self._lent)
        else:
            self._turn.begin(prompt)
        self._turn.add_hooks_once([found for name in self._used if (found := self.find(name))])

    async def use(self, skill: Skill, given: str, ctx: Context) -> str:
        """What the model reads when it uses a skill, or the report of the sub-agent that does."""
        with self.grants.during(skill, ctx.settings):
            text = await text_of(skill, given, ctx)
        if skill.head.forks:
            return await run_in_agent(skill, text, self._session, ctx)
        self.grants.add(skill, ctx.settings)
        self._turn.use(skill)
        if self._used.get(skill.name) == text:
            return f"{skill.what} is already in this conversation, with the same text. Follow it."
        self._keep(skill.name, text)
        return text

    async def preload(self, skill: Skill, ctx: Context) -> str:
        """A skill that an agent knows from the start."""
        with self.grants.during(skill, ctx.settings):
            text = await text_of(skill, "", ctx)
        self._turn.add_hooks(skill)
        self._keep(skill.name, text)
        return text

    def _keep(self, name: str, text: str) -> None:
        self._used.pop(name, None)
        self._used[name] = text
        self._session.write(USED_LINE, name=name, text=text)

    def after_summary(self) -> list[str]:
        """What has to be said again: what was told and used is no longer in the conversation."""
        self._told, self._is_new_ground = {}, True
        left, kept = KEPT_ALL, list[str]()
        for text in reversed(self._used.values()):
            part = text[: min(KEPT_EACH, left)]
            if part:
                kept.insert(0, part)
            left -= len(part)
        return [*self.news("prompt"), *kept]


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _denied(settings: Settings) -> Callable[[Skill], bool]:
    """Whether a deny rule names a skill outright: it is not shown to the model at all."""
    rules = [split_rule(rule) for rule in settings.get("permissions.deny", [])]
    words = [rule[1] for rule in rules if rule and rule[0] == TOOL and rule[1]]
    keys = {key_of(word.removesuffix(":*").removesuffix(" *")) for word in words if word}
    return lambda skill: key_of(skill.name) in keys
