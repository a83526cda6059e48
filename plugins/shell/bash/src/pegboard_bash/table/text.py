"""Programs that turn text into text."""

from __future__ import annotations

from pegboard_bash.programs import Program
from pegboard_bash.scripts.awk import check_awk
from pegboard_bash.scripts.jq import check_jq, check_yq
from pegboard_bash.scripts.sed import check_sed

PROGRAMS = {
    "wc": Program(
        "-clLmw --bytes --chars --lines --max-line-length --words --total= --version",
        "read*",
        glob=True,
        asks=("wc --files0-from=x",),
    ),
    "sort": Program(
        "-bcCdfgiMmhnrRsuVz -k: -S: -t: --ignore-leading-blanks --dictionary-order --ignore-case "
        "--general-numeric-sort "
        "--ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --random-source=read "
        "--reverse --sort= --version-sort --batch-size= --check=? --key= --merge --stable --buffer-size= "
        "--field-separator= --parallel= --unique --zero-terminated --debug --version",
        "read*",
        reads=("sort -u -k2,2n a", "sort -t, -k1 a"),
        asks=(
            "sort -o x a",
            "sort a -uo x",
            "sort -\\o x a",
            "sort --outp=x a",
            "sort --compress-program=x a",
            "sort *",
        ),
    ),
    "uniq": Program(
        "-cdDiuz -f: -s: -w: --count --repeated --all-repeated=? --skip-fields= --group=? --ignore-case --skip-chars= "
        "--unique --zero-terminated --check-chars= --version",
        "read?",
        reads=("uniq -c a",),
        asks=("uniq a b",),
    ),
    "cut": Program(
        "-nsz -b: -c: -d: -f: --bytes= --characters= --delimiter= --fields= --complement --only-delimited "
        "--output-delimiter= --zero-terminated --version",
        "read*",
        glob=True,
    ),
    "tr": Program("-cCdst --complement --delete --squeeze-repeats --truncate-set1 --version", "text*"),
    "rev": Program("-0 --zero --version", "read*", glob=True),
    "paste": Program("-sz -d: --serial --delimiters= --zero-terminated --version", "read*", glob=True),
    "join": Program(
        "-iz -a: -e: -j: -1: -2: -o: -t: -v: --ignore-case --check-order --nocheck-order --header --zero-terminated",
        "read*",
    ),
    "comm": Program(
        "-123z --check-order --nocheck-order --output-delimiter= --total --zero-terminated --version", "read*"
    ),
    "fold": Program("-bcs -w: -# --bytes --characters --spaces --width= --version", "read*", glob=True),
    "fmt": Program("-cstu -g: -p: -w: -# --crown-margin --prefix= --split-only --width= --goal= --version", "read*"),
    "pr": Program("-acdfFJmrtTv -e? -h: -i? -l: -n? -N: -o: -s? -S? -w: -W: -# +#", "read*"),
    "expand unexpand": Program("-aif -t: -# --initial --tabs= --all --first-only --version", "read*", glob=True),
    "column": Program(
        "-xteJLn -c: -s: -o: -N: -H: -R: -T: -l: -d --table --separator= --output-separator= --table-columns= --json "
        "--fillrows --output-width= --table-noheadings --table-right= --table-hide= --keep-empty-lines --version",
        "read*",
    ),
    "numfmt": Program(
        "-z -d: --delimiter= --debug --field= --format= --from= --from-unit= --grouping --header=? --invalid= "
        "--padding= "
        "--round= --suffix= --to= --to-unit= --zero-terminated",
        "text*",
    ),
    "tsort": Program("--version", "read?"),
    "shuf": Program(
        "-erz -i: -n: --echo --input-range= --head-count= --repeat --zero-terminated --version",
        "read*",
        asks=("shuf -o x a",),
    ),
    "seq": Program("-w -f: -s: --format= --separator= --equal-width -#", "text*"),
    "expr factor": Program("", "text*"),
    "bc": Program("-hilqsw --mathlib --quiet --version", "read*"),
    "base64 base32 basenc": Program(
        "-di -w: --decode --ignore-garbage --wrap= --base64 --base64url --base32 --base16 --version",
        "read?",
        asks=("base64 -o x",),
    ),
    "iconv": Program("-cl -f: -t: --from-code= --to-code= --list --version", "read*", asks=("iconv -f a -t b -o x y",)),
    "sed gsed": Program(
        check=check_sed,
        reads=("sed -n '1,10p' a", "sed -E 's/a|b/c/g; /x/d' a", "sed -n -e '/a/,/b/{p;}' a", "sed '$!N;P;D' a"),
        asks=(
            "sed -i s/a/b/ a",
            "sed 's/a/b/w x' a",
            "sed '1e touch x' a",
            "sed -n '/a/w x' a",
            "sed -f x a",
            "sed p *",
        ),
    ),
    "awk gawk mawk nawk": Program(
        check=check_awk,
        reads=("awk -F: '{print $1}' a", "awk '$3 > 5 {n++} END {print n}' a", "awk 'NR==1 || /x/' a"),
        asks=(
            "awk 'BEGIN{system(\"touch x\")}'",
            "awk '{print > \"x\"}' a",
            "awk '{print | \"sh\"}' a",
            'awk \'BEGIN{print "x\\\n" > ("pw" "ned")}\'',
            "awk -f x a",
            "gawk -i inplace 1 a",
        ),
    ),
    "jq": Program(
        "-acCeMnrRsSj --compact-output --null-input --raw-output --raw-input --slurp --sort-keys "
        "--color-output --monochrome-output --tab --indent= --exit-status --join-output --ascii-output --stream --seq "
        "--unbuffered --arg=2 --argjson=2 "
        "--version",
        "text? read*",
        check=check_jq,
        reads=("jq -r .a.b x.json", "jq '.[] | select(.n > 1) | .name' x"),
        asks=("jq -f p x", "jq -n env", "jq '$ENV.HOME' x", "jq -L . 'import \"a\" as a; .' x", "jq --rawfile a b . x"),
    ),
    "yq": Program(
        "-PrCM -o: -p: --prettyPrint --unwrapScalar --colors --no-colors --output-format= --input-format=",
        "text? read*",
        check=check_yq,
        reads=("yq '.a.b[0]' x.yml",),
        asks=("yq -i '.a = 1' x.yml", "yq 'load(\"/etc/shadow\")' x.yml"),
    ),
}
