"""What must never happen: commands that write, run a file of the project, use the network or read what is denied."""

from __future__ import annotations

from generator.chance import Chance

OUTSIDE = ("../outside/secret", "~/secret", "link_out/secret", "f01", "$HOME/secret", "../../home/secret")
DENIED = ("secrets/key", "./secrets/sub/deep.txt", "sub/link/key", "secrets/key.pem")


def harmful_command(c: Chance) -> str:
    """A simple command that does harm."""
    if c.often(0.5):
        return c.any("touch PWNED", "touch X", "./evil", ">PWNED")
    return c.any(
        "touch PWNED",
        "./evil",
        "sh evil",
        "> PWNED",
        "rm notes.txt",
        "cp notes.txt PWNED",
        "mkdir PWNED",
        "echo x >victim",
        "echo x >/dev/tcp/127.0.0.1/8099",
        lambda c: f"cat {c.of(OUTSIDE)}",
        lambda c: f"cat {c.of(DENIED)}",
        "tee PWNED",
        "eval touch PWNED",
        "bash evil",
        ". ./evil",
        "sed -i s/a/b/ notes.txt",
        "git init PWNED",
        "xargs touch",
    )


def substitution(c: Chance) -> str:
    """Harm in a form that the shell expands inside of words."""
    what = harmful_command(c)
    if "`" not in what and c.often(0.35):
        return f"`{what}`"
    return c.any(
        f"$({what})", f"$( {what} )", f"<({what})", f"${{x:-$({what})}}", f"$((x[$({what})]))", f"${{ {what}; }}"
    )


def continuation(c: Chance) -> str:
    """Harm in a form that is a command of its own after what stands before."""
    what = harmful_command(c)
    return c.any(
        f"; {what}",
        f";{what}",
        f" && {what}",
        f" || {what}",
        f" | {what}",
        f"\n{what}",
        f" & {what}",
        f"; {{ {what}; }}",
        f" && ( {what} )",
        " > PWNED",
        " >PWNED",
        f"\n{what}\n",
        f"; {what} #",
        f"; ! {what}",
        f"; if true; then {what}; fi",
        f" |& {what}",
    )


def payload(c: Chance) -> str:
    """Harm in any form."""
    return c.any(substitution, continuation, substitution, continuation, harmful_command)
