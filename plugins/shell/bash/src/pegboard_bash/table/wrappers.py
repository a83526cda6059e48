"""Programs that run another command: what they would do is what that command would do."""

from __future__ import annotations

import re

from pegboard_bash.effects import Effects
from pegboard_bash.programs import Check, Program, program_of
from pegboard_bash.words import UNKNOWN, Word, names

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
SHELLS = "bash sh dash zsh ksh ash fish"
XARGS_VALUED = frozenset("adEILnPs")


def check_env(words: list[Word], effects: Effects) -> None:
    """`env` alone shows the environment; with a command it runs it in another one."""
    at, plain = 0, True
    while at < len(words):
        text = words[at].text
        if ASSIGNMENT.fullmatch(text) or UNKNOWN in text.partition("=")[0]:
            name, _, value = text.partition("=")
            plain = plain and _is_safe(name, Word(value, literal=words[at].literal, glob=words[at].glob))
        elif text in ("-0", "--null"):
            pass
        elif text.startswith("-"):
            plain = False
            at += text in ("-u", "-C", "--unset", "--chdir")
            if split := re.fullmatch(r"(?:-v?S|--split-string=?)(.*)", text, re.DOTALL):
                effects.subtexts.append(" ".join([split[1], *(word.text for word in words[at + 1 :])]).strip())
                break
        else:
            effects.inner.append(words[at:])
            break
        at += 1
    if not plain:
        effects.refuse("env may change what the command does.")


def _is_safe(name: str, value: Word) -> bool:
    # simple.py imports the table through programs.py; importing it here, late, breaks the circle.
    from pegboard_bash.simple import is_safe_assignment

    return is_safe_assignment(name, value)


def check_xargs(words: list[Word], effects: Effects) -> None:
    """Xargs gives a command words that are known only when it runs: files anywhere, and options."""
    at, flagless = 0, True
    while at < len(words) and words[at].text.startswith("-"):
        text, flagless = words[at].text, False
        if not re.fullmatch(r"-[0rtx]+|-[nLP]\d*|--null|--no-run-if-empty", text):
            effects.refuse(f"The option {words[at].source} of xargs may change something.")
        at += 2 if len(text) == 2 and text[1] in XARGS_VALUED else 1
    inner = words[at:]
    effects.strip = flagless
    if not inner:
        return
    effects.inner.append(inner)
    program = program_of(inner[0].text) if inner[0].literal else None
    if program is None or not program.listed:
        effects.refuse("xargs passes arguments that are known only when it runs.")


def refusing(reason: str, valued: str, *, skip: int = 0, exact: bool = False) -> Check:
    """A check for a wrapper that always asks, but whose command is still looked at. `skip` operands come before it."""

    def check(words: list[Word], effects: Effects) -> None:
        effects.refuse(f"{effects.program} {reason}")
        effects.exact = effects.exact or exact
        at, left = 0, skip
        while at < len(words):
            text = words[at].text
            if text == "--":
                left += 0
            elif text in ("-c", "--command") and "c" in valued and at + 1 < len(words):
                effects.subtexts.append(words[at + 1].text.replace(UNKNOWN, " "))
                at += 1
            elif text.startswith("-") and len(text) > 1:
                at += not text.startswith("--") and text[-1] in valued
                at += text.startswith("--") and "=" not in text and text[2:] in LONG_VALUED
            elif ASSIGNMENT.fullmatch(text):
                pass
            elif left:
                left -= 1
            else:
                effects.inner.append(words[at:])
                # Which options have values is not known of all: every beginning is a reading for rules too.
                texts = [word.text for word in words]
                effects.also += [" ".join(texts[start:]) for start in range(min(len(texts), 8))]
                return
            at += 1

    return check


LONG_VALUED = names("user group interval class classdata timeout wait reuid regid chdir command host prompt")


def check_shell(words: list[Word], effects: Effects) -> None:
    """A shell runs a script; one that is given as text is looked at for rules that restrict."""
    if [word.text for word in words] == ["--version"]:
        return
    effects.refuse(f"{effects.program} runs a script.")
    texts = [word.text.replace(UNKNOWN, " ") for word in words]
    effects.subtexts += [text.partition("=")[2] for text in texts if text.startswith("--command=")]
    given = [at for at, text in enumerate(texts) if re.fullmatch(r"-\w*c\w*|--command", text)]
    if given:
        # Options may come between `-c` and the script, and one of them (`-o pipefail`) has a value.
        effects.subtexts += [text for text in texts[given[0] + 1 :] if not text.startswith(("-", "+"))][:4]


def check_time(words: list[Word], effects: Effects) -> None:
    """`time`, the keyword: `-p` and a command."""
    rest = words[1:] if words and words[0].text == "-p" else words
    if rest and rest[0].text.startswith("-"):
        effects.refuse("The options of time can write a file.")
    elif rest:
        effects.inner.append(rest)
    effects.strip = True


PROGRAMS = {
    "timeout": Program(
        "-v -k: -s: --foreground --preserve-status --verbose --kill-after= --signal=",
        "text program",
        wrapper="strip",
        reads=("timeout 5s ls", "timeout -k 1 5 ls -la"),
        asks=("timeout 5 touch x", "timeout 5 $x"),
    ),
    "time": Program(check=check_time, wrapper="strip", reads=("time ls",), asks=("time -o x ls", "time rm x")),
    "nice": Program("-n: -# --adjustment=", "program", wrapper="strip", reads=("nice -n 10 ls",), asks=("nice rm x",)),
    "nohup": Program(
        "", "program", wrapper="strip", changes="nohup may write nohup.out.", asks=("nohup ls", "nohup touch x")
    ),
    "stdbuf": Program("-i: -o: -e: --input= --output= --error=", "program", wrapper="strip", asks=("stdbuf -o0 rm x",)),
    "noglob nocorrect": Program(check=refusing("belongs to another shell.", ""), asks=("noglob touch x",)),
    "env": Program(
        check=check_env,
        wrapper="see",
        reads=("env", "env LANG=C ls"),
        asks=("env touch x", "env PATH=. ls", "env -S 'touch x'", "env -i ls"),
    ),
    "xargs gxargs": Program(
        check=check_xargs,
        reads=("git ls-files | xargs stat -c %s", "ls | xargs -n1 basename"),
        asks=("ls | xargs wc -l --", "ls | xargs ls", "ls | xargs rm", "ls | xargs cat", "ls | xargs -I{} sh -c x"),
    ),
    "sudo doas pkexec": Program(
        check=refusing("runs a command as another user.", "ugphCTRDc"), asks=("sudo ls", "doas ls")
    ),
    "su runuser": Program(check=check_shell, asks=("su -c ls",)),
    "watch": Program(check=refusing("runs a command repeatedly.", "n", exact=True), asks=("watch ls",)),
    "setsid": Program(check=refusing("runs a command that cannot be checked.", "", exact=True), asks=("setsid ls",)),
    "ionice": Program(check=refusing("changes how a command runs.", "cnpPu", exact=True), asks=("ionice -c3 ls",)),
    "flock": Program(
        check=refusing("creates a lock file.", "wEc", skip=1, exact=True), asks=("flock x ls", "flock x -c 'rm y'")
    ),
    "chroot": Program(check=refusing("runs a command in another root.", "", skip=1), asks=("chroot / ls",)),
    "taskset chrt": Program(check=refusing("changes how a command runs.", "p", skip=1), asks=("taskset 1 ls",)),
    "{ ! then do else": Program(check=refusing("is not understood here.", "")),
    "busybox toybox coproc": Program(check=refusing("runs another command.", ""), asks=("busybox rm x", "coproc ls")),
    "script": Program(
        check=refusing("writes the output of a command to a file.", "cBEIOTmo"), asks=("script -c ls x", "script")
    ),
    **{
        names: Program(check=refusing("runs another command.", valued), asks=(f"{names.split()[0]} ls",))
        for names, valued in {
            "setpriv unshare prlimit cgexec firejail bwrap entr unbuffer": "",
            "setarch linux32 linux64 i386 x86_64 choom fakeroot numactl rlwrap gosu dbus-run-session xvfb-run": "n",
            "strace ltrace": "aebIoOpPsSuUX",
            "nsenter": "tSG",
            "systemd-run": "pEuHM",
            "parallel": "jNnaILS",
        }.items()
    },
    SHELLS: Program(check=check_shell, unknown_words=True, reads=("bash --version",), asks=("bash -c ls", "sh x.sh")),
    "source .": Program(check=refusing("runs a file in this shell.", ""), asks=("source x", ". ./x")),
}
