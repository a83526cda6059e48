"""What is known of programs, by trade. Each module holds `PROGRAMS`: names (several share one entry) to knowledge."""

from __future__ import annotations

from pegboard_bash.table import files, git, hosts, packages, search, shell, system, text, versions, wrappers, writers

TABLES = (
    shell.PROGRAMS,
    files.PROGRAMS,
    text.PROGRAMS,
    search.PROGRAMS,
    system.PROGRAMS,
    packages.PROGRAMS,
    hosts.PROGRAMS,
    git.PROGRAMS,
    wrappers.PROGRAMS,
    writers.PROGRAMS,
    versions.PROGRAMS,
)
