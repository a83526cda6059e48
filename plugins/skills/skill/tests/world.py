"""What the tests of skills share: files, boards, a person who is asked, and words of a scripted model."""

from __future__ import annotations

from pegboard import Allow, Board, hookimpl
from pegboard.settings import load
from pegboard_session import ReplayProvider, Session
from pegboard_testing.warm import known_plugins


class Person:
    """Says yes to everything, and remembers what was asked."""

    def __init__(self):
        self.asked = []

    @hookimpl
    def ask_user(self, question):
        self.asked.append(question.description)
        return Allow("yes")


class World:
    def __init__(self, folder):
        self.home, self.repo = folder / "home", folder / "repo"
        self.home.mkdir()
        (self.repo / ".git").mkdir(parents=True)
        self.person = Person()

    def put(self, path, text, *, at=None):
        file = (at or self.repo) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def skill(self, name, fields="", body="Do it.", *, at=None, place=".claude/skills"):
        return self.put(f"{place}/{name}/SKILL.md", f"---\ndescription: About {name}\n{fields}---\n{body}\n", at=at)

    def command(self, name, text, *, at=None, place=".claude/commands"):
        return self.put(f"{place}/{name}.md", text, at=at)

    def settings(self, *, trusted=True, cwd=None, **given):
        return load(str(cwd or self.repo), application=given, trusted=trusted)

    def board(self, *, trusted=True, cwd=None, asks=True, **given):
        return self.board_of(self.settings(trusted=trusted, cwd=cwd, **given), asks=asks)

    def board_of(self, settings, *, asks=True):
        with known_plugins(self.home):
            return Board.load(settings=settings, plugins=[self.person] if asks else [])

    def session(self, *turns, board=None, **given):
        return Session(board or self.board(**given), ReplayProvider(list(turns)))


def says(words="Done."):
    return {"content": [{"type": "text", "text": words}]}


def calls(*uses):
    return {"content": [{"type": "tool_use", "name": name, "input": given} for name, given in uses]}


def use(skill, args=None):
    return calls(("Skill", {"skill": skill, **({"args": args} if args is not None else {})}))


def runs(command):
    return calls(("Bash", {"command": command}))


def texts(message):
    return [block["text"] for block in message["content"] if block["type"] == "text"]


def reminders(message):
    tag = "<system-reminder>\n"
    found = [text for text in texts(message) if text.startswith(tag)]
    return [text.removeprefix(tag).removesuffix("\n</system-reminder>") for text in found]


def results(session):
    """What each call came to, as the model reads it."""
    found = []
    for message in session.messages:
        for block in message["content"]:
            if block["type"] == "tool_result":
                content = block["content"]
                found.append(content if isinstance(content, str) else "".join(part["text"] for part in content))
    return found
