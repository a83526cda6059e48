"""File types that the Python engine knows, by the names that ripgrep gives them."""

from __future__ import annotations

from syntax import UnsupportedPatternError  # type: ignore[import-not-found,unused-ignore]

TYPES = {
    "c": "*.[chH] *.[chH].in *.cats",
    "cpp": "*.[ChH] *.[ChH].in *.[ch]pp *.[ch]pp.in *.[ch]xx *.[ch]xx.in *.cc *.cc.in *.hh *.hh.in *.inl",
    "css": "*.css *.scss",
    "csv": "*.csv",
    "go": "*.go",
    "html": "*.htm *.html *.ejs",
    "java": "*.java *.jsp *.jspx *.properties",
    "js": "*.js *.jsx *.vue *.cjs *.mjs",
    "json": "*.json composer.lock *.sarif",
    "kotlin": "*.kt *.kts",
    "lua": "*.lua",
    "md": "*.markdown *.md *.mdown *.mdwn *.mkd *.mkdn *.mdx",
    "php": "*.php *.php3 *.php4 *.php5 *.php7 *.php8 *.pht *.phtml",
    "py": "*.py *.pyi",
    "rust": "*.rs",
    "sql": "*.sql *.psql",
    "swift": "*.swift",
    "toml": "*.toml Cargo.lock",
    "ts": "*.ts *.tsx *.cts *.mts",
    "txt": "*.txt",
    "yaml": "*.yaml *.yml",
}


def globs_of(name: str) -> list[str]:
    """The globs of a type."""
    if name not in TYPES:
        known = ", ".join(TYPES)
        raise UnsupportedPatternError(f"unrecognized file type: {name}; the Python engine knows {known}")
    return TYPES[name].split()
