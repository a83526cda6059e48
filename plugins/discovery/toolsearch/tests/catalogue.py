"""Forty tools of well-known kinds, and boards that have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pegboard_toolsearch
from pegboard import Board, ExternalTool
from pegboard.plugins.scan import describe_tool
from pegboard.settings import Layer, Settings

TOOLS: dict[str, tuple[str, dict[str, str]]] = {
    "mcp__github__create_issue": ("Create a new issue in a repository.", {"title": "The title", "body": ""}),
    "mcp__github__list_pull_requests": ("List the pull requests of a repository.", {"state": "open or closed"}),
    "mcp__github__merge_pull_request": ("Merge a pull request.", {"number": "The pull request"}),
    "mcp__github__search_code": ("Search for code across repositories.", {"q": "The words"}),
    "mcp__slack__send_message": ("Send a message to a channel.", {"channel": "", "text": "What to say"}),
    "mcp__slack__list_users": ("List the members of the workspace.", {}),
    "mcp__slack__get_channel_history": ("Read the latest messages of a channel.", {"channel": ""}),
    "mcp__files__read_file": ("Read the contents of a file.", {"path": "Where it is"}),
    "mcp__files__write_file": ("Create or overwrite a file.", {"path": "", "content": ""}),
    "mcp__files__directory_tree": ("Show a directory and all below it as a tree.", {"path": ""}),
    "mcp__files__move_file": ("Move or rename a file.", {"source": "", "destination": ""}),
    "mcp__browser__navigate": ("Open a web page.", {"url": "The address"}),
    "mcp__browser__click": ("Click an element of the page.", {"selector": "A CSS selector"}),
    "mcp__browser__screenshot": ("Take a picture of the current page.", {}),
    "mcp__mail__send_email": ("Send an email.", {"to": "Recipients", "subject": "", "body": ""}),
    "mcp__mail__search_emails": ("Search the inbox.", {"query": ""}),
    "mcp__calendar__create_event": ("Create a calendar event.", {"start": "", "end": "", "attendees": ""}),
    "mcp__calendar__find_free_slots": ("Find times when all attendees are free.", {"attendees": ""}),
    "mcp__maps__geocode_address": ("Find the coordinates of an address.", {"address": ""}),
    "mcp__maps__get_directions": ("Get directions between two places.", {"from": "", "to": ""}),
    "mcp__weather__get_forecast": ("Get the weather forecast for a city.", {"city": "", "days": ""}),
    "mcp__stocks__get_price": ("Get the latest price of a stock.", {"ticker": "Such as AAPL"}),
    "mcp__stocks__get_earnings": ("Get the earnings history of a company.", {"ticker": ""}),
    "mcp__shop__search_products": ("Search for products.", {"keywords": ""}),
    "mcp__shop__create_order": ("Place an order.", {"items": ""}),
    "mcp__db__run_query": ("Run a SQL query against the database.", {"sql": "The statement"}),
    "mcp__db__list_tables": ("List the tables of the database.", {}),
    "mcp__charts__generate_pie_chart": ("Generate a pie chart.", {"data": ""}),
    "mcp__charts__generate_word_cloud": ("Generate a word cloud.", {"data": ""}),
    "mcp__docs__translate_text": ("Translate text into another language.", {"text": "", "target": ""}),
    "mcp__docs__summarize_document": ("Summarize a long document.", {"document": ""}),
    "mcp__media__resize_image": ("Resize an image.", {"width": "", "height": ""}),
    "mcp__media__play_song": ("Play a song.", {"title": ""}),
    "mcp__media__get_transcript": ("Get the transcript of a video.", {"video": "An address"}),
    "mcp__k8s__get_pods": ("List the pods of a Kubernetes namespace.", {"namespace": ""}),
    "mcp__k8s__get_logs": ("Read the logs of a pod.", {"pod": ""}),
    "mcp__travel__search_flights": ("Search for flights.", {"origin": "", "destination": ""}),
    "mcp__travel__search_hotels": ("Search for hotels.", {"city": ""}),
    "mcp__jira__add_comment": ("Add a comment to a ticket.", {"ticket": "", "comment": ""}),
    "mcp__time__get_current_time": ("Tell the time in a time zone.", {"timezone": ""}),
}


def external(name: str, **options: Any) -> ExternalTool:
    """One of these tools; it answers with its name."""
    description, arguments = TOOLS.get(name, ("Do something.", {}))
    properties = {argument: {"type": "string", "description": words} for argument, words in arguments.items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return ExternalTool(name, description, schema, lambda given, ctx: f"{name} got {given}", **options)


def every() -> list[ExternalTool]:
    return [external(name) for name in TOOLS]


def a_board(folder: Path, tools: list[ExternalTool] | None = None, *plugins: object, **values: Any) -> Board:
    """A board whose only built-in tool is ToolSearch."""
    flat = {f"deferral.{key}": value for key, value in values.pop("deferral", {}).items()}
    settings = Settings([Layer("user", "settings.json", {**values, **flat})], cwd=str(folder))
    record = describe_tool(pegboard_toolsearch.ToolSearch())
    found: Any = {
        "id": "toolsearch",
        "dist": "pegboard-toolsearch",
        "version": "0.1.0",
        "entry": "discovery.toolsearch",
        "family": "discovery",
        "value": "pegboard_toolsearch",
        "api": "1.0",
        "root": "",
        "editable": "",
        "record": "",
        "scan": {"state": "active", "hooks": ["register_tools", "register_services"]},
    }
    found["scan"] |= {"kind": "", "reason": "", "traceback": "", "unspecified": [], "tools": [record]}
    found["scan"] |= {"printed": "", "ms": 0.0, "origin": ""}
    return Board(
        settings, [found], plugins=plugins, tools=every() if tools is None else tools, env={"HOME": str(folder)}
    )
