"""A process to talk to: its input stays open, and its output is read on demand.

Nothing is read ahead, so a process that writes faster than it is read has to wait, and memory stays bounded.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import anyio
import anyio.lowlevel

from pegboard import ToolError
from pegboard_processes.child import Child
from pegboard_processes.interface import OnBytes, ProcessExit, ProcessSpec

CHUNK = 65_536
MOST = 16 * 1024 * 1024
"""The longest line or message, unless the caller says otherwise."""
TAIL = 8_192
"""How much of what a process said on standard error is kept for the message about its end."""
REST = 4 * 1024 * 1024
"""What a pipe may still hold when its process has ended: more than the kernel lets a user's pipe grow to."""


class Outlet:
    """The output of a process. A pipe like `streams.Pipe`, where nothing moves unless `fill` is called."""

    def __init__(self) -> None:
        self._outlet, self.inlet = os.pipe()
        os.set_blocking(self._outlet, False)
        self.buffer = bytearray()
        self.ended = anyio.Event()
        self.moved = 0
        self.on_full: Callable[[], None] = lambda: None
        self._stopped = anyio.Event()

    def seal(self) -> None:
        """Close our copy of the end that belongs to the process."""
        if self.inlet >= 0:
            os.close(self.inlet)
            self.inlet = -1

    async def pump(self) -> None:
        """Whoever wants the output reads it."""
        with anyio.CancelScope(shield=True):
            await self._stopped.wait()

    async def fill(self) -> bool:
        """Wait for more bytes in the buffer; False at the end of the output."""
        while not self.ended.is_set():
            try:
                chunk = os.read(self._outlet, CHUNK)
            except BlockingIOError:
                with suppress(anyio.ClosedResourceError):  # closed while we waited: what was left is in the buffer
                    before = len(self.buffer)
                    await anyio.wait_readable(self._outlet)
                    continue
                return len(self.buffer) > before
            self.moved += 1
            if not chunk:
                self.ended.set()
                return False
            self.buffer += chunk
            return True
        await anyio.lowlevel.checkpoint()
        return False

    def stop(self) -> None:
        """The process is over."""
        self._stopped.set()

    def close(self) -> None:
        """Take what is left in the pipe and give the descriptors back."""
        self.seal()
        if self._outlet < 0:
            return
        rest = 0
        with suppress(OSError):
            while not self.ended.is_set() and rest < REST and (chunk := os.read(self._outlet, CHUNK)):
                self.buffer += chunk
                rest += len(chunk)
        self.ended.set()
        anyio.notify_closing(self._outlet)
        os.close(self._outlet)
        self._outlet = -1


class Inlet:
    """The input of a process. Among its pipes it is one through which nothing comes."""

    def __init__(self) -> None:
        self.outlet, self._inlet = os.pipe()
        os.set_blocking(self._inlet, False)
        self.ended = anyio.Event()
        self.ended.set()
        self.moved = 0
        self.on_full: Callable[[], None] = lambda: None

    @property
    def closed(self) -> bool:
        """Whether nothing more can be sent."""
        return self._inlet < 0

    def seal(self) -> None:
        """Close our copy of the end that belongs to the process."""
        if self.outlet >= 0:
            os.close(self.outlet)
            self.outlet = -1

    async def pump(self) -> None:
        """Nothing comes."""

    def stop(self) -> None:
        """Nothing comes anyway."""

    async def write(self, data: memoryview) -> int:
        """Write a part of the data and say how much; raises `BrokenPipeError` when the other end is closed."""
        while True:
            if self.closed:
                raise BrokenPipeError
            try:
                return os.write(self._inlet, data[:CHUNK])
            except BlockingIOError:
                with suppress(anyio.ClosedResourceError):
                    await anyio.wait_writable(self._inlet)

    def close(self) -> None:
        """End the input."""
        self.seal()
        if self._inlet >= 0:
            anyio.notify_closing(self._inlet)
            os.close(self._inlet)
            self._inlet = -1


class StderrTail:
    """The last of what a process says on standard error, also passed on to a listener."""

    def __init__(self, listener: OnBytes | None) -> None:
        self._listener = listener
        self.data = bytearray()

    def __call__(self, chunk: bytes) -> None:
        self.data += chunk
        del self.data[:-TAIL]
        if self._listener:
            self._listener(chunk)


class Conversation:
    """A process whose input stays open. See `pegboard_processes.OpenProcess`."""

    def __init__(
        self, spec: ProcessSpec, child: Child, inlet: Inlet, outlet: Outlet, tail: StderrTail, grace: float
    ) -> None:
        self._name = os.path.basename(spec.argv[0])
        self._child, self._in, self._out, self._tail, self._grace = child, inlet, outlet, tail, grace
        self._sending, self._receiving = anyio.Lock(fast_acquire=True), anyio.Lock(fast_acquire=True)
        self._why = ""
        """Why it cannot be used any more, other than by its own end."""
        self.used = time.monotonic()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._child.pid

    @property
    def errors(self) -> str:
        """The last of what it said on standard error."""
        return self._tail.data.decode("utf-8", "replace")

    async def watch(self) -> None:
        """Keep the time and clean up, as `Child.watch`."""
        await self._child.watch()

    async def send(self, data: bytes) -> None:
        """Write all of the data."""
        async with self._sending:
            if self._why:
                raise ToolError(self._why, code="failed")
            rest = memoryview(data)
            try:
                while rest:
                    self.used = time.monotonic()
                    rest = rest[await self._in.write(rest) :]
            except BrokenPipeError:
                raise await self._over("it no longer reads its input") from None
            except BaseException:
                if len(rest) < len(data):  # cancelled in the middle: what came next would be taken for its rest
                    self._why = f"Only part of a message was sent to {self._name}. Restart it."
                raise
            await anyio.lowlevel.checkpoint()

    async def close_input(self) -> None:
        """Say that nothing more will be sent."""
        async with self._sending:
            self._in.close()

    async def receive(self, max_bytes: int = CHUNK) -> bytes:
        """The next bytes, empty at the end."""
        async with self._receiving:
            if not self._out.buffer:
                await self._fill()
            return self._take(max_bytes)

    async def receive_exactly(self, count: int) -> bytes:
        """So many bytes."""
        async with self._receiving:
            while len(self._out.buffer) < count:
                if not await self._fill():
                    raise await self._over(f"its output ended after {len(self._out.buffer)} of {count} bytes")
            return self._take(count)

    async def receive_until(self, delimiter: bytes, max_bytes: int = MOST) -> bytes:
        """Everything before the delimiter, which is taken too."""
        async with self._receiving:
            at = await self._find(delimiter, max_bytes)
            if at < 0:
                raise await self._over(f"its output ended before {delimiter!r}")
            return self._take(at + len(delimiter))[:at]

    def lines(self, max_bytes: int = MOST) -> AsyncIterator[bytes]:
        """Each line without its end, until the output ends."""
        return _Lines(self, max_bytes)

    async def next_line(self, max_bytes: int) -> bytes | None:
        """The next line, or None at the end."""
        async with self._receiving:
            at = await self._find(b"\n", max_bytes)
            if at >= 0:
                return self._take(at + 1)[:at]
            return self._take(len(self._out.buffer)) or None

    async def wait(self) -> ProcessExit:
        """Wait for the process itself."""
        return await self._child.wait()

    async def kill(self) -> None:
        """End the process and all that it started, at once."""
        self._in.close()
        await self._child.kill()

    async def close(self, why: str = "") -> None:
        """End the input, give the process time to end by itself, then end it and all that it started."""
        self._why = self._why or why or f"{self._name} was closed."
        with anyio.CancelScope(shield=True):
            self._in.close()
            with anyio.move_on_after(self._grace):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._discard)  # it may have to get rid of its output before it can end
                    await self._child.wait()
                    tasks.cancel_scope.cancel()
            await self._child.kill()

    async def close_when_idle(self, seconds: float) -> None:
        """Close it when nothing was sent or received for so long."""
        while not self._child.finished:
            left = self.used + seconds - time.monotonic()
            if left <= 0:
                await self.close(f"{self._name} was closed after {seconds:g} s without use.")
                return
            with anyio.move_on_after(left):
                await self._child.wait()

    async def _find(self, delimiter: bytes, max_bytes: int) -> int:
        """Where the delimiter is in the buffer; -1 when the output ends without it."""
        buffer, start = self._out.buffer, 0
        while (at := buffer.find(delimiter, start)) < 0:
            start = max(0, len(buffer) - len(delimiter) + 1)
            if start > max_bytes:
                break
            if not await self._fill():
                return -1
        if at < 0 or at > max_bytes:
            self._why = f"{self._name} wrote more than {max_bytes} bytes without {delimiter!r}. Restart it."
            raise ToolError(self._why, code="too_large", remedy="")
        return at

    async def _fill(self) -> bool:
        more = await self._out.fill()
        self.used = time.monotonic()
        return more

    def _take(self, count: int) -> bytes:
        taken = bytes(self._out.buffer[:count])
        del self._out.buffer[:count]
        return taken

    async def _discard(self) -> None:
        async with self._receiving:
            while await self._out.fill():
                self._out.buffer.clear()

    async def _over(self, what: str) -> ToolError:
        """What to say when the other side is gone: how it ended, if it did, and its last words."""
        words = self._why
        if not words:
            how = "still runs"
            with anyio.move_on_after(1.0):
                ended = await self._child.wait()
                how = f"ended with exit code {ended.code}" if ended.code is not None else f"was ended by {ended.signal}"
            words = f"{self._name} {how}; {what}."
        said = self.errors.strip()[-500:]
        return ToolError(words + (f" It said: {said}" if said else ""), code="failed", remedy="")


class _Lines:
    """Not a generator: one that is left in the middle would have to be closed."""

    def __init__(self, source: Conversation, max_bytes: int) -> None:
        self._source, self._max_bytes = source, max_bytes

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> bytes:
        line = await self._source.next_line(self._max_bytes)
        if line is None:
            raise StopAsyncIteration
        return line
