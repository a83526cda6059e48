"""Layered settings that know where each value comes from.

`load()` reads every layer (baked, managed, command line, environment, local, project, user) and answers with
`Settings`. Nothing here imports more than `json` and `os`: listing tools must stay cheap.
"""

from pegboard.settings.keys import KEYS, Key
from pegboard.settings.layers import Layer, Notice, Settings
from pegboard.settings.reading import load

__all__ = ["KEYS", "Key", "Layer", "Notice", "Settings", "load"]
