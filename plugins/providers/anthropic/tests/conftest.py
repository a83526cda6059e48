"""An environment in which only what a test says is set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key, proxy or profile of the person who runs the tests reaches them."""
    for name in list(os.environ):
        if name.startswith(
            ("ANTHROPIC_", "AWS_", "CLOUD_ML_", "GOOGLE_", "SSL_CERT_", "XDG_")
        ) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
