"""Lists to choose from, kept as data: they are long, and every line of them says the same kind of thing."""

from __future__ import annotations

import json
from pathlib import Path

TOKENS: dict[str, list[str]] = json.loads(Path(__file__).with_name("tokens.json").read_text(encoding="utf-8"))
