"""What the model reads of a fetch: its source, its type, and the content, marked as untrusted."""

from __future__ import annotations

import re

from pegboard_http import MARK, without_marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pegboard_webfetch.pages import Page
    from pegboard_webfetch.webfetch import WebFetchOutput

BLOB = re.compile(r"/([^/]+/[^/]+)/blob/(.+)")

HOW = {
    "verbatim": "verbatim",
    "extracted": "extracted: a model's answer from the page, not the page itself",
    "redirect": "redirect to another host",
    "downgrade": "redirect to plain http",
    "picture": "picture",
    "saved": "saved to a file",
    "empty": "no content",
}


def worded(value: WebFetchOutput) -> str:
    """All of it, as text."""
    status = f"{value.code} {value.code_text}".strip()
    facts = [
        f"status {status}",
        value.content_type,
        "" if value.redirect_url else f"{value.bytes} bytes",
        HOW[value.how],
    ]
    lines = [" · ".join([value.final_url, *(fact for fact in facts if fact)])]
    if value.from_cache:
        lines.append("(From the cache.)")
    lines += [f"({without_marks(note)})" for note in value.notes]
    if value.how == "downgrade":
        lines.append(
            f"{value.final_url} redirects to plain http on the same host: {value.redirect_url}\n"
            "It was not followed: without encryption, anyone on the network path can read and change the page. "
            "Continue without it, or tell the user."
        )
    elif value.redirect_url:
        lines.append(
            f"{value.final_url} redirects to another host: {value.redirect_url}\n"
            f"It was not followed. To go there, call WebFetch with url={value.redirect_url}"
        )
    if value.path:
        lines.append(f"The file cannot be shown as text. It was saved as {value.path}")
    return "\n".join([*lines, *_body(value)])


def _body(value: WebFetchOutput) -> list[str]:
    if not value.result:
        past = value.offset and value.offset >= value.total_chars
        return (
            [f"(The page has {value.total_chars} characters; offset {value.offset} is beyond its end.)"] if past else []
        )
    title = (
        [f"Title: {without_marks(value.title)}\n"]
        if value.title and value.how == "verbatim" and not value.offset
        else []
    )
    wrapped = [f'<{MARK} origin="{value.final_url}">', *title, without_marks(value.result), f"</{MARK}>"]
    if value.next_offset is not None:
        what = "PARTIAL" if 200 <= value.code < 300 else "EXCERPT"
        shown = f"characters {value.offset} to {value.next_offset} of {value.total_chars}"
        wrapped.append(f"({what}: {shown}; continue with offset={value.next_offset}.)")
    return wrapped


def hints(page: Page) -> list[str]:
    """Hints for common cases."""
    found = []
    if page.status in (401, 403):
        found.append("The page requires a login or blocks programs; this tool cannot log in.")
    blob = BLOB.match(page.url.target) if page.url.host == "github.com" else None
    if blob:
        found.append(f"For the file alone, fetch https://raw.githubusercontent.com/{blob[1]}/{blob[2]}")
    return found
