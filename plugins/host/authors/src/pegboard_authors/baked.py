"""The choice as a wheel of its own: one data file next to the `pegboard` package, where no variable can replace it."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

from pegboard import canonical
from pegboard.settings import BAKED
from pegboard_authors.archives import write_wheel
from pegboard_authors.bundle_contents import Choice

NAME = "pegboard-features"
METADATA = """\
Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: The tools that this installation of Pegboard may have, fixed when it was built.
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: pegboard build\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def features_wheel(choice: Choice, folder: Path) -> Path:
    """Write the wheel. It requires exactly what was chosen, so that installing it installs the bundle."""
    text = canonical(choice.baked) + b"\n"
    pins = "".join(f"Requires-Dist: {dist.metadata['Name']}=={dist.version}\n" for dist in choice.distributions)
    mark = hashlib.sha256(text + pins.encode()).hexdigest()[:12]
    number = f"{version('pegboard-core')}+{mark}"
    stem = f"{NAME.replace('-', '_')}-{number}"
    files = {
        BAKED: (text, False),
        f"{stem}.dist-info/METADATA": ((METADATA.format(name=NAME, version=number) + pins).encode(), False),
        f"{stem}.dist-info/WHEEL": (WHEEL.encode(), False),
    }
    return write_wheel(folder / f"{stem}-py3-none-any.whl", f"{stem}.dist-info", files)
