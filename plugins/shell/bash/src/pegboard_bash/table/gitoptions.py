"""The options of git's reading subcommands."""

from __future__ import annotations

from collections.abc import Callable

from pegboard_bash.arguments import take_apart
from pegboard_bash.programs import Program
from pegboard_bash.words import Word

DIFF = (
    "-pusRabwWzCMBD -U: -S: -G: -l: -O:read -C? -M? -B? -I: --patch --no-patch --unified= --raw --patch-with-raw "
    "--indent-heuristic --no-indent-heuristic --minimal --patience --histogram --anchored= --diff-algorithm= --stat=? "
    "--stat-width= --stat-name-width= --stat-count= --compact-summary --numstat --shortstat --dirstat=? --cumulative "
    "--summary --patch-with-stat --name-only --name-status --submodule=? --color=? --no-color --color-moved=? "
    "--no-color-moved --color-moved-ws= --word-diff=? --word-diff-regex= --color-words=? --no-renames --rename-empty "
    "--check --ws-error-highlight= --full-index --binary --abbrev=? --break-rewrites=? --find-renames=? "
    "--find-copies=? --find-copies-harder --irreversible-delete --diff-filter= --pickaxe-all --pickaxe-regex "
    "--skip-to= --rotate-to= --relative=? --no-relative --text --ignore-cr-at-eol --ignore-space-at-eol "
    "--ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --inter-hunk-context= "
    "--function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules=? --src-prefix= "
    "--dst-prefix= --no-prefix --default-prefix --line-prefix= --cached --staged --merge-base --find-object= "
    "--no-index --output-indicator-new= --output-indicator-old= "
    "--output-indicator-context= --ita-invisible-in-index --ita-visible-in-index"
)
LOG = (
    DIFF + " -icgmnqtEFPL: -n: -L: -# --follow --no-decorate --decorate=? --decorate-refs= --decorate-refs-exclude= "
    "--source --mailmap --no-mailmap --use-mailmap --log-size --max-count= --skip= --since= --after= --until= "
    "--before= "
    "--since-as-filter= --author= --committer= --grep= --all-match --invert-grep --regexp-ignore-case --basic-regexp "
    "--extended-regexp --fixed-strings --perl-regexp --merges --no-merges --min-parents= --max-parents= "
    "--first-parent --exclude-first-parent-only --not --all --branches=? --tags=? --remotes=? --glob= --exclude= "
    "--exclude-hidden= --reflog --single-worktree --ignore-missing --cherry-mark --cherry-pick --left-only "
    "--right-only --cherry --walk-reflogs --grep-reflog= --merge --boundary --simplify-by-decoration --show-pulls "
    "--full-history --dense --sparse --simplify-merges --ancestry-path=? --reverse --no-walk=? --do-walk --date-order "
    "--author-date-order --topo-order --pretty=? --format= --oneline --abbrev-commit --no-abbrev-commit "
    "--encoding= --expand-tabs=? --no-expand-tabs --notes=? --show-notes=? --no-notes --relative-date --date= "
    "--parents --children "
    "--left-right --graph --no-graph --show-linear-break=? --count --timestamp --diff-merges= --no-diff-merges --cc "
    "--combined-all-paths --clear-decorations -c -m -i -g -E -F -P"
)
LOG = LOG.replace(" -icgmnqtEFPL: ", " -qt ")
LIST = (
    "-lqi --list --color=? --no-color --column=? --no-column --sort= --merged=? --no-merged=? --contains=? "
    "--no-contains=? --points-at= --format= --ignore-case --omit-empty"
)
BRANCHES = Program(
    LIST + " -arv --all --remotes --verbose --abbrev=? --no-abbrev --show-current",
    "text*",
)
TAGS = Program(LIST + " -n?", "text*")
LISTING = "-l --list --contains --no-contains --merged --no-merged --points-at"


def _program(options: str, operands: str = "text*") -> Program:
    return Program(options, operands)


READING: dict[str, Program] = {
    "status": _program(
        "-sbvuz -u? --short --branch --show-stash --porcelain=? --long --verbose --untracked-files=? --ignored=? "
        "--ignore-submodules=? --column=? --no-column --ahead-behind --no-ahead-behind --renames --no-renames "
        "--find-renames=?"
    ),
    "log": _program(LOG),
    "show": _program(LOG),
    "whatchanged": _program(LOG),
    "diff": _program(DIFF + " -# -0123"),
    "diff-tree": _program(DIFF + " -rtmcsv --root --stdin --no-commit-id --pretty=? --format= --always --cc"),
    "diff-index": _program(DIFF + " -m"),
    "diff-files": _program(DIFF + " -q"),
    "range-diff": _program(DIFF + " --creation-factor= --left-only --right-only"),
    "rev-parse": _program(
        "-q -h --verify --quiet --short=? --abbrev-ref=? --symbolic --symbolic-full-name --all --branches=? --tags=? "
        "--remotes=? --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir "
        "--is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository "
        "--show-superproject-working-tree "
        "--git-path= --show-object-format=? --revs-only --no-revs --flags --no-flags --not --default= --since= "
        "--after= "
        "--until= --before= --sq --path-format= --disambiguate= --local-env-vars --shared-index-path --glob= --exclude="
    ),
    "rev-list": _program(LOG + " --objects --object-names --no-object-names --quiet --header --disk-usage=? --bisect"),
    "ls-files": _program(
        "-cdmoiksutvfz -x: -X:read --cached --deleted --modified --others --ignored --stage --directory "
        "--no-empty-directory --unmerged --killed --exclude= --exclude-from=read --exclude-per-directory= "
        "--exclude-standard --error-unmatch --with-tree= --full-name --recurse-submodules --abbrev=? --debug "
        "--deduplicate --sparse --format="
    ),
    "ls-tree": _program(
        "-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev=? --format="
    ),
    "cat-file": _program(
        "-tsep --batch-check=? --batch=? --batch-all-objects --buffer --unordered --follow-symlinks "
        "--allow-unknown-type"
    ),
    "blame": _program(
        "-bcefklnpstw -C? -M? -L: -S:read --root --show-stats --porcelain --line-porcelain --incremental --encoding= "
        "--date= --progress --no-progress --color-lines --color-by-age --score-debug --show-name --show-number "
        "--show-email --abbrev=? --ignore-rev= --ignore-revs-file=read --first-parent --reverse --since= --minimal"
    ),
    "annotate": _program("-L: -C? -M? --date= -l -t -n -e"),
    "shortlog": _program(LOG + " -sne -w? --numbered --summary --email --group= --committer"),
    "describe": _program(
        "--all --tags --contains --abbrev=? --candidates= --exact-match --debug --long --match= --exclude= --always "
        "--first-parent"
    ),
    "for-each-ref": _program(
        "--count= --shell --perl --python --tcl --sort= --format= --color=? --points-at= --merged=? --no-merged=? "
        "--contains=? --no-contains=? --ignore-case --omit-empty --exclude="
    ),
    "show-ref": _program(
        "-dhqs --head --heads --branches --tags --dereference --hash=? --verify --abbrev=? --quiet --exists"
    ),
    "show-branch": _program(
        "-ar --all --remotes --current --topo-order --date-order --sparse --more= --list --sha1-name"
    ),
    "merge-base": _program("-a --all --octopus --independent --is-ancestor --fork-point"),
    "name-rev": _program("--tags --refs= --exclude= --all --name-only --no-undefined --always"),
    "cherry": _program("-v --abbrev=?"),
    "grep": _program(
        "-aIiwvhHEGFPnlLzcopWq -A: -B: -C: -e: -f:read -m: -# --cached --untracked --no-exclude-standard "
        "--exclude-standard --text --ignore-case --max-depth= --recursive --no-recursive --word-regexp --invert-match "
        "--full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column "
        "--files-with-matches --name-only --files-without-match --null --only-matching --count --color=? --no-color "
        "--break --heading --show-function --context= --after-context= --before-context= --function-context "
        "--max-count= --threads= --and --or --not --all-match --quiet"
    ),
    "check-ignore": _program("-qvnz --quiet --verbose --non-matching --no-index"),
    "check-attr": _program("-az --all --cached"),
    "check-mailmap": _program(""),
    "check-ref-format": _program("--branch --allow-onelevel --normalize"),
    "count-objects": _program("-vH --verbose --human-readable", "none"),
    "var": _program("-l"),
    "version": _program("--build-options", "none"),
    "symbolic-ref": Program("-q --short --quiet", "text"),
    "verify-pack": _program("-vs --verbose --stat-only"),
    "patch-id": _program("--stable --unstable"),
    "stripspace": _program("-sc"),
    "hash-object": _program("-t: --stdin --path= --no-filters --literally"),
    "fsck": _program(
        "--unreachable --dangling --no-dangling --root --tags --cache --no-reflogs --full --no-full --strict --verbose "
        "--progress --no-progress --connectivity-only --name-objects"
    ),
    "get-tar-commit-id": _program("", "none"),
    "column": _program("--mode= --width= --padding= --indent="),
}

CONFIG = Program(
    "-lz --list --get --get-all --get-regexp --get-urlmatch --show-origin --show-scope --name-only --null --local "
    "--global --system --worktree --bool --int --bool-or-int --type= --path --default= --includes --no-includes --all "
    "--regexp",
    "text*",
)


def _listing(program: Program, asking: str) -> Callable[[list[Word]], Program | None]:
    """Branches or tags: with a name and without an option that says list, one would be made."""

    def choose(words: list[Word]) -> Program | None:
        given = take_apart(program.grammar, words)
        return program if not given.operands or given.has(asking) else None

    return choose


def _config(words: list[Word]) -> Program | None:
    """Reading values: by option, by the newer subcommands, or one name alone."""
    if words and words[0].text in ("get", "list"):
        return CONFIG
    given = take_apart(CONFIG.grammar, words)
    alone = len(given.operands) == 1 and "." in given.operands[0].text
    return CONFIG if alone or given.has("-l --list --get --get-all --get-regexp --get-urlmatch") else None


def _only(**forms: Program) -> Callable[[list[Word]], Program | None]:
    """A subcommand of which only these forms read; "" is the form without a word."""
    table = {name.replace("_", "-") if name != "bare" else "": program for name, program in forms.items()}

    def choose(words: list[Word]) -> Program | None:
        first = words[0].text if words else ""
        if first in table and first:
            return Program(subcommands={first: table[first]})
        return table.get("") if not first or first.startswith("-") else None

    return choose


SPECIAL: dict[str, Callable[[list[Word]], Program | None]] = {
    "branch": _listing(BRANCHES, LISTING),
    "tag": _listing(TAGS, f"{LISTING} -n"),
    "config": _config,
    "remote": _only(
        bare=Program("-v --verbose"),
        get_url=Program("--push --all", "text"),
        show=Program("-n", "text*", only_with="-n"),
    ),
    "submodule": _only(bare=Program("-q --quiet --cached"), status=Program("-q --quiet --cached --recursive", "text*")),
    "ls-remote": lambda words: Program("-q --quiet --get-url", "text?", only_with="--get-url"),
    "stash": _only(list=Program(LOG, "text*"), show=Program(DIFF + " --include-untracked --only-untracked", "text*")),
    "worktree": _only(list=Program("-vz --verbose --porcelain")),
    "notes": _only(bare=Program(""), list=Program("", "text*"), show=Program("", "text*")),
    "reflog": _only(
        bare=Program(LOG), HEAD=Program(LOG), list=Program(""), show=Program(LOG, "text*"), exists=Program("", "text")
    ),
    "bisect": _only(log=Program("")),
    "bundle": _only(verify=Program("-q", "read"), list_heads=Program("", "read text*")),
}
