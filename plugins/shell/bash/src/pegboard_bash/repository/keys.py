"""Which entries of a repository's own configuration leave reading commands harmless: a list of what is known.

The user's own configuration, in the home directory and the system's, is the user's choice and not looked at.
"""

from __future__ import annotations

import os
import re

from pegboard_bash.words import names

HARMLESS_SECTIONS = names(
    "advice alias am apply author branch checkout clone color column commit committer credential fetch gc gitflow "
    "gui http https i18n index init maintenance merge mergetool notes pack protocol pull push rebase receive "
    "rerere sendemail sequence splitindex submodule svn-remote tag transfer upload uploadpack url user "
    "versionsort github-desktop gh vscode sourcetree"
)
"""Sections that reading commands run nothing from. `credential`, `http` and `url` matter to the network only."""

HARMLESS_KEYS = {
    "core": names(
        "repositoryformatversion "
        "filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf "
        "eol safecrlf attributesfile quotepath editor sshcommand abbrev whitespace excludesfile compression "
        "bigfilethreshold preloadindex untrackedcache trustctime checkstat longpaths protecthfs protectntfs "
        "deltabasecachelimit packedgitlimit packedgitwindowsize commentchar commentstring checkroundtripencoding "
        "warnambiguousrefs sparsecheckout sparsecheckoutcone commitgraph multipackindex hidedotfiles fscache "
        "createobject fsync fsyncmethod fsyncobjectfiles looscompression sharedrepository disambiguate splitindex "
        "gitproxy askpass maxtreedepth usereplacerefs notesref"
    ),
    "diff": names(
        "algorithm autorefreshindex colormoved colormovedws context dirstat indentheuristic interhunkcontext "
        "mnemonicprefix noprefix orderfile renamelimit renames relative statgraphwidth statnamewidth "
        "suppressblankempty tool wserrorhighlight guitool ignoresubmodules wordregex submodule"
    ),
    "lfs": names(
        "repositoryformatversion url pushurl access locksverify fetchinclude fetchexclude concurrenttransfers"
    ),
    "log": names("abbrevcommit date decorate excludedecoration follow graphcolors mailmap showroot diffmerges"),
    "status": names(
        "relativepaths short branch aheadbehind displaycommentprefix renamelimit renames showstash showuntrackedfiles"
    ),
    "blame": names("coloring date ignorerevsfile showroot showemail blankboundary markunblamablelines"),
    "grep": names("linenumber column patterntype extendedregexp threads fullname"),
    "format": names("signoff numbered subjectprefix suffix thread to cc from"),
    "mailmap": frozenset({"file", "blob"}),
    "feature": frozenset({"manyfiles", "experimental"}),
    "extensions": frozenset({"worktreeconfig", "objectformat", "refstorage", "noop", "relativeworktrees"}),
    "showbranch": frozenset({"default"}),
    "stash": names("showincludeuntracked showstat usebuiltin"),
    "remote": names(
        "url pushurl fetch push tagopt prune prunetags mirror skipdefaultupdate skipfetchall gh-resolved proxy "
        "vcs receivepack uploadpack pushdefault glab-resolved followremotehead"
    ),
}
HARMLESS_DRIVER = frozenset({"xfuncname", "funcname", "binary", "wordregex", "algorithm", "cachetextconv"})
LFS = re.compile(r"git-lfs (clean|smudge|smudge --skip|filter-process|filter-process --skip)( -- %f)?")
DEPRECATED = frozenset({"whatchanged", "pack-redundant"})
"""Commands that newer versions of git let an alias replace."""

SHORT = {
    ("diff", "submodule"): frozenset({"short", "log"}),
    ("log", "diffmerges"): frozenset(
        {"off", "none", "on", "m", "first-parent", "1", "separate", "combined", "c", "dense-combined", "cc"}
    ),
    ("submodule", "recurse"): frozenset({"", "0", "false", "no", "off"}),
}
"""Entries with values under which git stays out of submodules, and does not merge again."""

FILE_KEYS = frozenset(
    {("core", "attributesfile"), ("core", "excludesfile"), ("blame", "ignorerevsfile"), ("diff", "orderfile")}
    | {("mailmap", "file"), ("commit", "template")}
)
"""Entries that name a file for git to read. Some commands show its content, if only in a message."""

REVISION_LINE = re.compile(r"[ \t]*(?:[0-9a-f]{40,64})?[ \t]*(?:#.*)?", re.DOTALL)
LARGEST_FILE = 1_000_000

BOOLEAN = frozenset({"", "0", "1", "true", "false", "yes", "no", "on", "off"})
SIGNING = re.compile(r"%G|signature|%\(trailers", re.IGNORECASE)


def danger_of(section: str, subsection: str, key: str, value: str | None) -> str:
    """The name of an entry that may make a reading git command run something; empty when it cannot."""
    name = ".".join(part for part in (section, subsection, key) if part)
    if _is_harmless(section, subsection, key, (value or "").lower() if section == "core" else value or ""):
        return ""
    return name


def danger_of_file(section: str, key: str, value: str, top: str) -> str:
    """The name of an entry whose file is not one of the project's own; empty when it is, or there is none."""
    name = f"{section}.{key}"
    if not value:
        return ""
    if value.startswith(("~", "%")):
        return name
    path, root = os.path.realpath(os.path.join(top, value)), os.path.realpath(top)
    if not path.startswith(f"{root.rstrip('/')}/") or f"{path}/".startswith(f"{root}/.git/"):
        return name
    if key != "ignorerevsfile" or not os.path.lexists(path):
        return ""
    return "" if os.path.isfile(path) and _holds_revisions(path) else name


def _holds_revisions(path: str) -> bool:
    """Whether a file is a list of commits: git shows every other line in a message."""
    try:
        with open(path, encoding="ascii", errors="surrogateescape") as file:
            text = file.read(LARGEST_FILE + 1)
    except OSError:
        return False
    return len(text) <= LARGEST_FILE and all(map(REVISION_LINE.fullmatch, text.split("\n")))


def _is_harmless(section: str, subsection: str, key: str, value: str) -> bool:
    if section == "core" and key in ("fsmonitor", "hookspath"):
        # A hooks path is judged by its content; a monitor program is run by `git status`.
        return key == "hookspath" or value in BOOLEAN
    if section == "alias":
        return key not in DEPRECATED and subsection.lower() not in DEPRECATED
    if section == "core" and key == "pager":
        return value in ("", "cat")
    if section == "filter" and subsection == "lfs":
        return key == "required" or LFS.fullmatch(value) is not None
    if section == "diff" and subsection:
        return key in HARMLESS_DRIVER
    if section == "merge" and subsection:
        # Its driver would run where a log shows merges by making them again.
        return key in ("name", "recursive")
    if (section, key) in SHORT:
        return value.lower() in SHORT[section, key]
    if section == "pretty":
        return not SIGNING.search(value)
    if section == "submodule" and key == "update":
        return not value.startswith("!")
    if section in HARMLESS_KEYS:
        return key in HARMLESS_KEYS[section]
    return section in HARMLESS_SECTIONS
