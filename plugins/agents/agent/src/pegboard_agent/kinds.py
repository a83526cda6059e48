"""The kinds of agents that are always there."""

from pegboard_session import AgentDefinition

READERS = ("Read", "Grep", "Glob", "LSP", "WebFetch", "WebSearch", "ToolSearch")
BUILT_IN_SOURCE = "built-in"
GENERAL_KIND = "general-purpose"
ALIASES = {"general": GENERAL_KIND}
"""Other names of kinds that are always there. A definition with such a name counts before the alias."""

GENERAL = """\
Do the task you are given, completely and nothing beyond it. Look before you change anything.
Report what you did and found, with file paths and line numbers, and say plainly what you could not do."""

EXPLORE = """\
Find out what you are asked about this project. You only read; you change nothing.
Search broadly first, then read the few places that matter, several at once where you can.
Report the answer first, then the evidence as file paths with line numbers. Say what you did not look at."""

PLAN = """\
Work out how to do what you are asked, without doing it. You only read; you change nothing.
Read the code that the change would touch and the tests around it.
Report a plan of numbered steps, each with the files it concerns, what could go wrong, and how to see that it worked."""

BUILT_IN = (
    AgentDefinition(
        GENERAL_KIND,
        "Carries out a task of several steps on its own, with the tools you have.",
        GENERAL,
        source=BUILT_IN_SOURCE,
    ),
    AgentDefinition(
        "Explore",
        "Investigates the project; read-only. Use it when the search would fill your own context.",
        EXPLORE,
        tools=READERS,
        permission_mode="plan",
        source=BUILT_IN_SOURCE,
        memory_files=False,
    ),
    AgentDefinition(
        "Plan",
        "Plans a change; read-only.",
        PLAN,
        tools=READERS,
        permission_mode="plan",
        source=BUILT_IN_SOURCE,
        memory_files=False,
    ),
)
