"""What we tell each server that we can do."""

from __future__ import annotations

from typing import Any

_SYMBOL_KINDS = {"symbolKind": {"valueSet": list(range(1, 27))}}

CLIENT: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
        "symbol": _SYMBOL_KINDS,
        "diagnostics": {"refreshSupport": True},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True, **_SYMBOL_KINDS},
        "callHierarchy": {},
        "publishDiagnostics": {"versionSupport": True, "relatedInformation": True},
        "diagnostic": {"dynamicRegistration": True, "relatedDocumentSupport": False},
    },
}
"""Every server can count in UTF-16, so nothing else is offered."""

SYMBOL_KINDS = (
    *("file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum"),
    *("interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key"),
    *("null", "enum-member", "struct", "event", "operator", "type-parameter"),
)
"""The names of the protocol's kinds of symbols, of which the first has the number 1."""
