"""What is shown of an answer: cleaned, within limits, tables as Markdown."""

from __future__ import annotations

from pegboard_files import plain_text
from pegboard_repl.interpreter import Answer
from pegboard_repl.repl import LONGEST_SHOWN, Picture, REPLOutput
from pegboard_repl.tables import markdown_of


def shown(language: str, answer: Answer, remarks: list[str]) -> REPLOutput:
    """The output of the tool for an answer."""
    texts, pictures = list[str](), list[Picture]()
    for piece in answer.pieces:
        kind, data = str(piece["kind"]), str(piece["data"])
        if kind.startswith("image/"):
            pictures.append(Picture(media_type=kind, base64=data))
        else:
            table = markdown_of(data) if kind == "text/html" else ""
            texts.append(_beginning(plain_text(table or data)))
    error = plain_text(answer.error)
    return REPLOutput(
        language=language,
        result="\n".join(texts),
        stdout=plain_text(answer.output),
        stderr="\n".join(remarks),
        error=error if len(error) <= LONGEST_SHOWN else f"[…]\n{error[-LONGEST_SHOWN:]}",
        images=pictures,
        output_bytes=answer.output_bytes,
        timed_out=answer.timed_out,
    )


def _beginning(text: str) -> str:
    if len(text) <= LONGEST_SHOWN:
        return text
    return f"{text[:LONGEST_SHOWN]}\n[... {len(text) - LONGEST_SHOWN:,} of {len(text):,} characters omitted ...]"
