"""Parse server-sent events from bytes that may be split anywhere."""

from __future__ import annotations

from collections.abc import Iterator


class EventDecoder:
    """Collects bytes and gives back each event as soon as its last byte is there.

    Lines end at LF, CR or CRLF and nowhere else. The line iterators of HTTP libraries also cut at U+2028 and U+0085,
    which a model may write inside a JSON string.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._ended_in_cr = False
        self._name = b""
        self._data: list[bytes] = []
        self.pending = 0
        """How many bytes of an event that is not yet complete are kept."""

    def feed(self, chunk: bytes) -> Iterator[tuple[str, bytes]]:
        """The name and data of every event that these bytes complete. One without its blank line is dropped."""
        if not chunk:
            return
        if self._ended_in_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # The second half of a CRLF that was cut in two.
        self._ended_in_cr = chunk.endswith(b"\r")
        lines = chunk.splitlines(keepends=True)
        if lines and lines[0].endswith((b"\n", b"\r")):
            lines[0] = b"".join([*self._rest, lines[0]])
            self._rest = []
        if lines and not lines[-1].endswith((b"\n", b"\r")):
            self._rest.append(lines.pop())  # Joined once, when its end is there: a line may come in many chunks.
        self.pending += len(chunk)
        for line in lines:
            if text := line.rstrip(b"\r\n"):
                self._read(text)
            elif self._data:
                yield self._name.decode("utf-8", "replace"), b"\n".join(self._data)
                self._name, self._data = b"", []
                self.pending = sum(map(len, self._rest))
            else:
                self._name = b""
                self.pending = sum(map(len, self._rest))

    def _read(self, line: bytes) -> None:
        field, _, value = line.partition(b":")  # A comment begins with a colon and so has an empty field.
        if field == b"event":
            self._name = value.removeprefix(b" ")
        elif field == b"data":
            self._data.append(value.removeprefix(b" "))
