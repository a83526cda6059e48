"""Programs that list, show and compare files."""

from __future__ import annotations

import re

from pegboard_bash.arguments import take_apart
from pegboard_bash.effects import Effects, FolderTree
from pegboard_bash.programs import Check, Program, program_of
from pegboard_bash.recursion import follow_links
from pegboard_bash.words import Word, absolute


def check_response_file(words: list[Word], effects: Effects) -> None:
    """`@file` is not a file to look at but one with more options."""
    # A pattern counts behind `--` too: such a file is looked for before anything else.
    if any(word.text.startswith("@") or (word.glob and word.text[0] in "*?[") for word in words):
        effects.refuse(f"{effects.program} takes options from a file.")


def check_plain_names(words: list[Word], effects: Effects) -> None:
    """A script that hands names on as text: older versions take signs in them for commands."""
    for word in words[1:]:
        if word.glob or not PLAIN_NAME.fullmatch(word.text):
            effects.refuse(f"{effects.program} is a script that may interpret {word.source} as more than a name.")


def check_single(words: list[Word], effects: Effects) -> None:
    """Xxd has no bundles: `-ps` is one option without a value, not `-p` and an `-s` that takes the next word."""
    for word in words:
        if word.text.startswith("-") and not re.fullmatch(r"-([A-Za-z]\d*|\d[\dxa-fA-F]*)?", word.text):
            effects.refuse(f"The option {word.source} of {effects.program} may change something.")


def follows(options: str, *, only_with: str = "", contents: bool = False, unless: str = "") -> Check:
    """A check for programs that go into folders: with these options they follow links there.

    `only_with` names the options without which they stay at the top; `contents` says that they show what files hold.
    """

    def check(words: list[Word], effects: Effects) -> None:
        program = program_of(effects.program)
        if program is None:
            return
        given = take_apart(program.grammar, words, lenient=True)
        if only_with and not given.has(only_with):
            return
        named = [absolute(word.text, cwd) for word in given.operands for cwd in effects.place.cwds]
        folders = named or list(effects.place.cwds)
        effects.trees += map(FolderTree, folders if contents else ())
        if (not options or given.has(options)) and not (unless and given.has(unless)):
            follow_links(folders, effects)

    return check


PLAIN_NAME = re.compile(r"[\w./@:=+-]+", re.ASCII)
SUMS = "-btw --binary --tag --text --zero -z --ignore-missing --quiet --status --strict --warn"

PROGRAMS = {
    "ls dir vdir": Program(
        "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I: -T: -w: --all --almost-all --author --escape --block-size= "
        "--ignore-backups --color=? --directory --dired --classify=? --file-type --format= --full-time --zero "
        "--group-directories-first --no-group --human-readable --si --dereference-command-line --hide= --hyperlink=? "
        "--indicator-style= --inode --ignore= --kibibytes --dereference --numeric-uid-gid --literal --quote-name "
        "--hide-control-chars --show-control-chars --quoting-style= --reverse --recursive --size --sort= --time= "
        "--time-style= --tabsize= --width= --context --version --help",
        "read*",
        check=follows("-L --dereference", only_with="-R --recursive"),
        glob=True,
        reads_cwd=True,
        reads=("ls -la src", "ls --color=never *.py", "ls -- -o"),
        asks=("ls --frobnicate", 'ls "$x"', "./ls", "LD_PRELOAD=x ls"),
    ),
    "cat": Program(
        "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting "
        "--version --help",
        "read*",
        glob=True,
        reads=("cat -n a b",),
        asks=("cat /proc/self/environ", "cat a > b"),
    ),
    "tac": Program("-br -s: --before --regex --separator= --version", "read*", glob=True),
    "head": Program(
        "-qvz -n: -c: -# --bytes= --lines= --quiet --silent --verbose --zero-terminated --version",
        "read*",
        glob=True,
        reads=("head -5 a", "head -n20 a"),
    ),
    "tail": Program(
        "-qvzfFr -n: -c: -s: -# +# --bytes= --lines= --quiet --silent --verbose --zero-terminated --follow=? --retry "
        "--pid= --sleep-interval= --version",
        "read*",
        glob=True,
    ),
    "nl": Program("-p -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: --version", "read*", glob=True),
    "od": Program(
        "-abcdfilosxv -A: -j: -N: -S? -t: -w? --address-radix= --endian= --skip-bytes= --read-bytes= --format= "
        "--output-duplicates --width=? --strings=? --version",
        "read*",
        glob=True,
    ),
    "hexdump hd": Program("-bcCdovxX -n: -s: -e: -L? --canonical --length= --skip= --no-squeezing", "read*", glob=True),
    "xxd": Program(
        "-abeEiupCd -c: -g: -l: -n: -o: -s: -R:",
        "read?",
        check=check_single,
        reads=("xxd -l 16 a", "xxd -c8 a"),
        asks=("xxd -r a b", "xxd a b", "xxd -ps a b"),
    ),
    "strings": Program(
        "-aw -n: -t: -e: -# --all --bytes= --radix= --encoding= --print-file-name -f",
        "read*",
        check=check_response_file,
        asks=("strings -T x a",),
    ),
    "stat": Program(
        "-LftxsFlnqr -c: --dereference --file-system --format= --printf= --terse --cached= --version",
        "read*",
        glob=True,
        listed=True,
    ),
    "file": Program(
        "-bEhikLNnrs0v -e: -F: -P: --brief --mime --mime-type --mime-encoding --extension --dereference "
        "--no-dereference "
        "--no-pad --no-buffer --print0 --separator= --exclude= --keep-going -k --apple --version",
        "read*",
        glob=False,
        reads=("file -b a", "file --mime-type a"),
        asks=("file -m x a", "file -f x", "file -C -m x", "file -z a", "file -p a"),
    ),
    "du": Program(
        "-0aAbcDhHklLmPsSx -B: -d: -t: --all --apparent-size --block-size= --bytes --total --dereference-args "
        "--max-depth= --human-readable --inodes --dereference --count-links --null --no-dereference --separate-dirs "
        "--si --summarize --threshold= --time=? --time-style= --exclude= --one-file-system --version",
        "read*",
        check=follows("-L --dereference"),
        glob=True,
        reads_cwd=True,
    ),
    "df": Program(
        "-ahHiklmPTv -B: -t: -x: --all --block-size= --human-readable --si --inodes --local --no-sync --output=? "
        "--portability --total --type= --print-type --exclude-type= --version",
        "read*",
        glob=True,
        asks=("df --sync",),
    ),
    "basename dirname": Program("-az -s: --multiple --suffix= --zero --version", "text*", glob=True, listed=True),
    "realpath": Program(
        "-eEmLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to= "
        "--relative-base= --strip --no-symlinks --zero --version",
        "read*",
        glob=True,
    ),
    "readlink": Program(
        "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent "
        "--verbose --zero --version",
        "read*",
        glob=True,
    ),
    # Without `-c`: it opens each file that a list names.
    "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum": Program(
        SUMS + " -l: --length= --version",
        "read*",
        glob=True,
        reads=("sha256sum a b",),
        asks=("sha256sum -c a", "md5sum --check a"),
    ),
    "md5 shasum": Program("-btqr -a: --algorithm= --binary --text", "read*", glob=True),
    "cksum sum": Program("-a: -rsz --algorithm= --untagged --tag --zero --sysv --version", "read*", glob=True),
    "cmp": Program(
        "-bls -i: -n: --print-bytes --ignore-initial= --bytes= --silent --quiet --verbose --version", "read*", glob=True
    ),
    "diff": Program(
        "-abBcdeEfHinNpPqrRsTtuwyZ0123456789 -I: -C: -F: -L: -S: -U: -W: -x: -X:read -# --normal --brief "
        "--report-identical-files "
        "--context=? --unified=? --ed --rcs --side-by-side --width= --left-column --suppress-common-lines "
        "--show-c-function --show-function-line= --label= --expand-tabs --initial-tab --tabsize= "
        "--suppress-blank-empty "
        "--recursive --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case "
        "--no-ignore-file-name-case --exclude= --exclude-from=read --starting-file= --from-file=read --to-file=read "
        "--ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space "
        "--ignore-blank-lines --ignore-matching-lines= --text --strip-trailing-cr --ifdef= --line-format= --minimal "
        "--horizon-lines= --speed-large-files --color=? --palette= --version",
        "read*",
        check=follows("", contents=True, unless="--no-dereference"),
        reads=("diff -ru a b", "diff <(sort a) <(sort b)"),
        asks=("diff -l a b", "diff --paginate a b"),
    ),
    "diffstat": Program("-bcCfhklmqrsStuv -n: -p: -w:", "read*"),
    "tree": Program(
        "-adfFilnpqrsStuUvxgDhACNQJX -L: -P: -I: -H: -T: --noreport --dirsfirst --filesfirst --du --prune --gitignore "
        "--charset= --filelimit= --si --inodes --device --timefmt= --sort=? --matchdirs --ignore-case --version",
        "read*",
        check=follows("-l"),
        reads_cwd=True,
        reads=("tree -L 2 src",),
        asks=("tree -o x", "tree -L 1 -ox", "tree -R -L 1 -H ."),
    ),
    "exa eza lsd": Program(
        "-1aAbBdDFgGhHiIlmnrRsStTuUxZ@ -L: --all --long --tree --level= --git --icons=? --color=? --sort= --reverse "
        "--header --group --only-dirs --git-ignore --oneline --recurse --classify=? --no-user --time-style= -I:",
        "read*",
        reads_cwd=True,
    ),
    "bat batcat": Program(
        "-AnpPu -H: -l: -r: -m: --show-all --plain --language= --line-range= --style= --color= --decorations= "
        "--paging= --tabs= --wrap= --theme= --number --highlight-line= --list-languages --version",
        "read*",
        asks=("bat --pager x a",),
    ),
    "zcat gzcat bzcat xzcat zstdcat lzcat": Program("-fq", "read*", asks=("zcat -S x a",)),
    "gzip gunzip": Program(
        "-lvqdc --list --verbose --quiet --stdout --decompress --to-stdout --version",
        "read*",
        only_with="-l -c --list --stdout --to-stdout --version",
        reads=("gzip -l a.gz", "gzip -dc a.gz"),
        asks=("gzip a", "gunzip -k a.gz", "gzip -d a.gz", "gzip -d -- -c a.gz"),
    ),
    "zgrep zegrep zfgrep": Program("-EFGHPchilLnoqsvwxz -A: -B: -C: -m:", "text read*", check=check_plain_names),
    "zipinfo": Program("-12smlvhMtTz", "read text*"),
    "nm": Program(
        "-aABCDgnoPprSsuv -t: -f: --defined-only --undefined-only --demangle --size-sort --print-size",
        "read*",
        check=check_response_file,
    ),
    "readelf": Program(
        "-aAdehIlnrsSuVW --all --headers --file-header --symbols --syms --dynamic --relocs --wide",
        "read*",
        check=check_response_file,
    ),
    "objdump": Program(
        "-afphxdDstTrRCwz -j: -M: -b: -m: --archive-headers --file-headers --private-headers --section-headers "
        "--all-headers --disassemble=? --disassemble-all --full-contents --syms --dynamic-syms --reloc "
        "--dynamic-reloc --demangle=? --section= --start-address= --stop-address= --no-show-raw-insn --version",
        "read*",
        check=check_response_file,
        asks=("objdump @x", "objdump -S a"),
    ),
    "size": Program("-ABdotx", "read*", check=check_response_file),
    "namei": Program("-lmnovx", "read*", glob=True),
    "lsattr": Program("-adRvlp", "read*", reads_cwd=True),
    "getfacl": Program("-acdelnpRst", "read*"),
}
