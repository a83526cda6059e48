"""Task groups that live as long as a service."""

from __future__ import annotations

import anyio
from anyio.abc import TaskGroup


async def leave(group: TaskGroup, error: BaseException | None) -> None:
    """Leave the task group of a service whose body ended with `error`.

    Only cancellation is shown to the group: any other error would come out wrapped in an exception group, and a
    service is not expected to change the errors of those who use it.
    """
    if isinstance(error, anyio.get_cancelled_exc_class()):
        await group.__aexit__(type(error), error, error.__traceback__)
    else:
        await group.__aexit__(None, None, None)
