"""The tree of agents, from events."""

from pegboard import Event
from pegboard_cli.agent_tree import AgentTree
from pegboard_cli.live import LiveView
from pegboard_cli.views import View


def started(agent, parent="main", **more):
    data = {"agent": agent, "parent": parent, "agent_type": "Explore", "name": "", "description": "look", "model": "m"}
    return "agent_started", {**data, "depth": 1, "background": False, "color": "", **more}


def called(agent, kind, parent="main", **more):
    return kind, {"agent": agent, "parent": parent, "id": "1", "name": "Read", **more}


ENDED = {"decision": "allow", "is_error": False, "ms": 3.0, "said": ""}


def test_children_stand_under_their_parents():
    tree = AgentTree()
    for kind, data in (
        started("agent-a"),
        started("agent-b", "agent-a", name="bee"),
        called("agent-b", "call_started"),
    ):
        tree.hear(kind, data)
    rows = [row.rsplit("  ", 1)[0] for row in tree.rows()]
    assert rows == ["Explore [a]  0 calls", "  Explore bee [b]  0 calls", "    Read"]
    tree.hear(*called("agent-b", "call_finished", "agent-a", **ENDED))
    tree.hear("agent_finished", {"agent": "agent-b", "parent": "agent-a", "state": "done", "ms": 1200.0})
    assert [row.rsplit("  ", 1)[0] for row in tree.rows()] == ["Explore [a]  0 calls"]


def test_a_plain_view_tells_what_agents_do_but_not_what_they_write(capsys):
    view = View()
    for kind, data in (
        started("agent-a"),
        ("text_written", {"agent": "agent-a", "parent": "main", "text": "hidden"}),
        called("agent-a", "call_requested", input={"file_path": "a.txt"}),
        called("agent-a", "call_started"),
        called("agent-a", "call_finished", **ENDED),
        ("agent_finished", {"agent": "agent-a", "parent": "main", "state": "done", "ms": 1200.0}),
    ):
        view.observe(Event(kind, data))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "  Explore [a]: look (m)",
        '    ok     [a] Read file_path="a.txt"  (3 ms)',
        "  Explore [a] done: 1 call, 1.2 s",
    ]


def test_the_live_view_shows_the_tree_below():
    view = LiveView()
    view.observe(Event(*started("agent-a")))
    view.observe(Event(*called("agent-a", "call_started")))
    with view.console.capture() as captured:
        view.console.print(view._below())
    lines = captured.get().splitlines()
    assert lines[0].startswith("  Explore [a]  0 calls")
    assert lines[1].startswith("    Read")
