"""Every benchmark by name: the module that holds it, and the question it answers.

A module has one function, `benchmark(pace)`, that yields a `Comparison` for each thing that it measures. Modules are
imported when they run, so that one benchmark can be tried where the libraries of another are missing.
"""

from __future__ import annotations

import importlib

from .harness import Benchmark

QUESTIONS = {
    "agents": "How do agent command lines compare, driven by one scripted API: start, tools, exit, memory?",
    "frameworks": "How do Python frameworks compare: import, one trivial tool, a turn of ten 100 ms tools?",
    "start": "What does each command cost, compared with `python -I -c pass`?",
    "listing": "What do 8 to 1,000 plugins, and 8 to 10,000 tools, cost to list?",
    "turns": "What does a call cost, alone and in a turn? How soon is a turn over when tools run during the stream?",
    "rules": "What does a decision cost with 2,000 rules, compared with 20?",
    "toolsearch": "What does finding a tool cost, compared with one fuzzy pass over all names?",
    "servers": "How long do five slow MCP servers take to connect, compared with one?",
    "compaction": "What does compacting a conversation cost, compared with serialising it?",
    "bash": "What does a Bash call cost, compared with `subprocess.run` of the same command?",
    "classify": "What does understanding a shell command cost, compared with only parsing it?",
    "search": "What do Grep and Glob cost, compared with ripgrep?",
    "files": "What do Read, Edit and Write cost, compared with the fastest plain form?",
    "webfetch": "How long do ten fetches take, compared with one? What does a page to Markdown cost?",
    "session": "What does a request cost after 2,000 turns, and how does memory grow?",
    "subagents": "How long does a turn with three sub-agents take, compared with the slowest of them?",
    "confine": "What does a confined Bash call cost, compared with an unconfined one?",
    "sandbox": "What does a sandboxed process cost, compared with bubblewrap called by hand?",
    "skills": "What do 500 skills cost at the start, compared with none?",
    "telemetry": "What does a call cost with the telemetry plugin, compared with the same call without it?",
    "terminal": "What does streamed Markdown cost on a terminal, and how long do keys wait during a call?",
}


def load(name: str) -> Benchmark:
    """The function of a benchmark."""
    found: Benchmark = importlib.import_module(f".{name}", __package__).benchmark
    return found
