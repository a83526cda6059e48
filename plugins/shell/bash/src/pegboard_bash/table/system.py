"""Programs that tell about the machine, its processes and its users."""

from __future__ import annotations

import re

from pegboard_bash.effects import Effects
from pegboard_bash.programs import Program
from pegboard_bash.words import Word, names

PS_UNIX = re.compile(r"-[AadefFHjlLMNTywZ]+")
PS_BSD = re.compile(r"-?[auxfwljhT]+")
PS_VALUED = re.compile(r"-[efalAH]*[opqCuUgGt]")
PS_WITH_E = re.compile(r"[AadefFHjlLwyZMN]+")
PS_LONG = names("--sort --format --pid --ppid --user --columns --cols --width --rows --lines")
PS_ALONE = names("--forest --no-headers --no-heading --headers --version -V")
PS_VALUE = re.compile(r"[\w,%:=.+/@-]+")
IP_OBJECTS = frozenset({"addr", "address", "a", "link", "l", "route", "r", "neigh", "neighbor", "n", "rule", "maddr"})
IP_FLAGS = frozenset(
    {"-4", "-6", "-br", "-brief", "-c", "-color", "-j", "-json", "-p", "-pretty", "-o", "-s", "-d", "--brief", "--json"}
)
IP_WORDS = frozenset({"show", "list", "ls", "dev", "up", "table", "main", "all", "default"})


def check_ps(words: list[Word], effects: Effects) -> None:
    """Ps without the BSD option `e`, which shows the environment of processes.

    Where words contradict each other, ps reads all of them again as BSD options, and a harmless `-e` becomes that one.
    """
    letters, at = "", 0
    while at < len(words):
        text, at = words[at].text, at + 1
        long, given, _ = text.partition("=")
        if long in PS_LONG:
            at += not given
        elif text[:1] == "-" and text[-1] in "opqCuUgGt" and PS_VALUED.fullmatch(text) and at < len(words):
            letters += text[1:-1]
            if not PS_VALUE.fullmatch(words[at].text) or "env" in words[at].text:
                effects.refuse("ps may show the environment of processes.")
            at += 1
        elif PS_UNIX.fullmatch(text) or PS_BSD.fullmatch(text):
            letters += text.lstrip("-")
        elif not (text in PS_ALONE or text.isdigit()):
            effects.refuse(f"{words[at - 1].source} of ps may change something.")
    if "e" in letters and not PS_WITH_E.fullmatch(letters):
        effects.refuse("ps may show the environment of processes.")


def check_date(words: list[Word], effects: Effects) -> None:
    """date: an operand that is not a format sets the clock."""
    for word in words:
        if re.fullmatch(r"[\d.]+", word.text):
            effects.refuse("date may set the clock.")


def check_ip(words: list[Word], effects: Effects) -> None:
    """Ip OBJECT [show …]."""
    texts = [word.text for word in words]
    while texts and texts[0] in IP_FLAGS:
        texts.pop(0)
    device = [at for at, text in enumerate(texts) if at and texts[at - 1] == "dev"]
    good = bool(texts) and texts[0] in IP_OBJECTS and (len(texts) == 1 or texts[1] in ("show", "list", "ls"))
    if not good or any(text not in IP_WORDS and at not in device for at, text in enumerate(texts[1:], 1)):
        effects.refuse("ip may change the network.")


def check_sysctl(words: list[Word], effects: Effects) -> None:
    """sysctl: a name with a value sets it."""
    for word in words:
        if "=" in word.text:
            effects.refuse("sysctl sets a value.")


def check_status(words: list[Word], effects: Effects) -> None:
    """A program that shows the state of the system unless its arguments change it."""
    for word in words:
        if not word.text.startswith("-") and word.text not in ("status", "show"):
            effects.refuse(f"{effects.program} may change the system.")


def check_man(words: list[Word], effects: Effects) -> None:
    """Man with plain names: a path or an option can set its own pager and macros."""
    if [word.text for word in words] == ["--version"]:
        return
    for word in words:
        if not re.fullmatch(r"-[kfw]|[A-Za-z0-9][\w.+-]*", word.text):
            effects.refuse("man is known to only read when it is given plain page names.")


def check_tput(words: list[Word], effects: Effects) -> None:
    """tput: setting a terminal up can run a program."""
    if any(word.text in ("init", "reset") for word in words):
        effects.refuse("tput sets up the terminal.")


def check_lsof(words: list[Word], effects: Effects) -> None:
    """Lsof lists open files; `-D` writes a cache."""
    for word in words:
        if word.text.startswith(("-", "+")) and not re.fullmatch(LSOF, word.text):
            effects.refuse(f"The option {word.source} of lsof may change something.")


LSOF = r"-[anPtlUbwR]+|-[anPtl]*[ipucdgs]\S*|-F\w*"

PROGRAMS = {
    "date": Program(
        "-IuRj -I? -d: -r:read --date= --iso-8601=? --rfc-3339= --rfc-email --utc --universal --reference=read "
        "--resolution --version",
        "text*",
        check=check_date,
        reads=("date", "date +%F", "date -u -d yesterday +%s"),
        asks=("date -s now", "date 010100002030", "date --set=now", "date -f x"),
    ),
    "cal ncal": Program("-13jmyhS", "text*"),
    "id groups": Program("-agGnruzZ --group --groups --name --real --user --zero", "text*"),
    "whoami logname users arch nproc uptime tty w who": Program(
        "-abdHlmpqrsTtuhfoV -i --all --pretty --silent --quiet"
    ),
    "uname": Program("-asnrvmpio --all --kernel-name --nodename --kernel-release --machine --operating-system"),
    "hostname": Program(
        "-aAdfiIsy --fqdn --short --ip-address --all-ip-addresses --domain",
        reads=("hostname -f",),
        asks=("hostname x",),
    ),
    "printenv": Program("-0 --null", "text*"),
    "locale": Program("-ackm --all-locales --charmaps --category-name --keyword-name", "text*"),
    "getconf": Program("-a", "text*"),
    "tput": Program("", "text*", check=check_tput, asks=("tput init", "tput -T x cols")),
    "sleep": Program("", "text*"),
    "free": Program("-bkmghltvw -s: -c: --human --mega --giga --kilo --total --wide --si"),
    "vmstat mpstat iostat": Program("-adfmnstwxhkmpyz -S: -P:", "text*"),
    "lscpu lsblk lsmem lsns lsipc": Program(
        "-abdefilmnoOpPrstTxyJDzE -o: --all --bytes --json --output= --list --paths --noheadings --fs --tree "
        "--extended=?",
        "read*",
    ),
    "lsusb lspci": Program("-vtnknD -s: -d:"),
    "lsmod": Program(""),
    "findmnt": Program("-aAbclnrDJP -o: -t: -S: -T: --json --output= --list", "text*", asks=("findmnt -p",)),
    "mount": Program("-l", asks=("mount /dev/sda1 /mnt",)),
    "last lastb": Program("-adFiwxR -n: -#", "text*"),
    "getent": Program(
        subcommands={name: Program("", "text*") for name in ("passwd", "group", "services", "protocols", "shells")},
        reads=("getent passwd root",),
        asks=("getent hosts example.invalid",),
    ),
    "ps": Program(
        check=check_ps,
        reads=("ps aux", "ps -ef", "ps -eo pid,comm --sort=-rss", "ps -p 1"),
        asks=("ps auxe", "ps e", "ps -ef -x", "ps -eHT", "ps -e -aux"),
    ),
    "pgrep": Program(
        "-acflnovxwi -u: -U: -g: -G: -P: -s: -t: -d: -F:read --full --list-name --list-full --newest --oldest --exact "
        "--count --parent= --euid=",
        "text*",
        asks=("pkill x",),
    ),
    "pidof": Program("-sxcn", "text*"),
    "pstree": Program("-aAcghlnNpsStTuUZ -H:", "text*"),
    "lsof": Program(check=check_lsof, reads=("lsof -i :80", "lsof -nP -p 1"), asks=("lsof -D x", "lsof +D ..")),
    "fuser": Program("-vumna", "text*", asks=("fuser -k x",)),
    "ss netstat": Program(
        "-aAeilmnoprstuwx46HOTWlgc -f: -A: --listening --numeric --processes --tcp --udp --all --route --interfaces",
        "text*",
        asks=("ss -K", "ss -D x"),
    ),
    "ip": Program(
        check=check_ip, reads=("ip a", "ip -br addr show", "ip route"), asks=("ip link set lo down", "ip -b x")
    ),
    "ifconfig": Program("-a"),
    "arp route": Program("-nave", asks=("arp -d x", "route add x")),
    "lsb_release": Program("-acdirs --all --codename --description --id --release --short"),
    "hostnamectl": Program("", "text?", check=check_status, asks=("hostnamectl set-hostname x",)),
    "timedatectl": Program("--no-pager -p: -a", "text?", check=check_status, asks=("timedatectl set-time x",)),
    "top": Program(changes="top creates a folder for its configuration.", operands="text*", asks=("top", "top -bn1")),
    "sysctl": Program(
        "-aneNA --all --names --values",
        "text*",
        check=check_sysctl,
        reads=("sysctl -n kernel.ostype",),
        asks=("sysctl -w a=b",),
    ),
    "dmesg": Program("-HTkxLret -l: -f: --human --ctime --level= --facility= --kernel --decode --color=? --nopager"),
    "journalctl": Program(
        "-aefkqrx -n? -u: -p: -S: -U: -b? -o: -g: -t: -# --no-pager --since= --until= --unit= --lines=? --priority= "
        "--output= --grep= --boot=? --user --system --dmesg --reverse --list-boots --disk-usage --no-hostname --utc",
        "text*",
        reads=("journalctl -u ssh -n 50 --no-pager",),
        asks=("journalctl --vacuum-time=1s", "journalctl --rotate", "journalctl -n --rotate"),
    ),
    "systemctl": Program(
        subcommands={
            name: Program(
                "-alq -n: -t: -p: --no-pager --all --type= --state= --user --full --property= --failed", "text*"
            )
            for name in names(
                "status is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets "
                "list-dependencies show cat get-default is-system-running"
            )
        }
        | {"--version": Program("")},
        asks=("systemctl restart x", "systemctl -H x status"),
    ),
    "man": Program(check=check_man, reads=("man ls", "man 5 passwd"), asks=("man -P x ls", "man ./x", "man -l x")),
    "whatis apropos": Program("-aewrlsk -s:", "text*"),
}
