"""The environment that a process gets: the host's own, without its secrets and without pagers.

What counts as a secret is decided by name and by value. Not a secret here: `SSH_AUTH_SOCK` and its like. A socket
cannot be read out and sent away; taking it would break every `git fetch` over SSH, while the same user's keys stay
readable on disk. To withhold it anyway, name it in `deny`, or use a sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

PREDICTABLE = {
    "PEGBOARD": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""What every process finds: no pager, no prompt, no colours, and a mark by which a script can know where it runs.

`NO_COLOR` is left as the host has it: `TERM=dumb` is enough for programs that ask, and a test suite that checks its own
colours would fail under it.
"""

UNPREDICTABLE = ("*PAGER", "FORCE_COLOR", "CLICOLOR_FORCE", "BASH_FUNC_*")
"""Left out, because they would turn pagers and colours on again, or make `ls` do something we did not judge."""

SECRET_NAMES = (
    *("*API_KEY*", "*APIKEY*", "*_KEY", "*PRIVATE_KEY*", "*ACCESS_KEY*", "*ACCOUNT_KEY*", "*SIGNING_KEY*"),
    *("TOKEN", "*_TOKEN", "*_TOKEN_*", "TOKEN_*", "*AUTHTOKEN*", "*ACCESSTOKEN*", "*_PAT"),
    *("*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*_PASS", "*_PWD"),
    *("*CREDENTIAL*", "*CONNECTION_STRING*", "*_COOKIE", "*_AUTH"),
    *("AWS_CONTAINER_*", "AZURE_CLIENT_CERTIFICATE*", "GOOGLE_OAUTH_*"),
    *("ANTHROPIC_*", "OPENAI_*"),
)
"""Names of variables that hold secrets, or the whole configuration of a model that the host pays for."""

SECRET_VALUE = re.compile(
    r"""
      ://[^/\s:@]*:[^/\s@]+@                                # a URL with a password
    | (?i:\b(?:password|pwd|accountkey|sharedaccesskey)=[^;\s]+)   # a connection string
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----
    | \bsk-[A-Za-z0-9_-]{16,}                               # model providers
    | \b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}                # payment
    | \b(?:gh[pousr]_|github_pat_|glpat-|npm_|hf_)[A-Za-z0-9_-]{16,}
    | \bpypi-[A-Za-z0-9_-]{32,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_-]{35}
    | \bya29\.[A-Za-z0-9_-]{20,}
    | \beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.      # a signed web token
    | \bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    | \bAGE-SECRET-KEY-1[A-Z0-9]{16,}
    | ^(?i:bearer|basic)[ ][A-Za-z0-9+/=._-]{16,}$
    """,
    re.VERBOSE,
)


def scrubbed(env: Mapping[str, str], *, allow: Iterable[str] = (), deny: Iterable[str] = ()) -> dict[str, str]:
    """The environment for a process. `allow` and `deny` are names or patterns such as `CI_*`; `deny` wins.

    >>> scrubbed({"HOME": "/home/ada", "GITHUB_TOKEN": "x"})["HOME"]
    '/home/ada'
    """
    allowed, denied = tuple(allow), tuple(deny)
    kept = {
        name: value
        for name, value in env.items()
        if not matches(name, denied) and (matches(name, allowed) or not is_secret(name, value))
    }
    plain = {name: value for name, value in kept.items() if not matches(name, UNPREDICTABLE)}
    return plain | {name: value for name, value in PREDICTABLE.items() if not matches(name, denied)}


def is_secret(name: str, value: str) -> bool:
    """Whether a variable is withheld from processes unless it is allowed by name."""
    return matches(name, SECRET_NAMES) or bool(SECRET_VALUE.search(value))


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name fits one of the patterns; upper and lower case are the same."""
    name = name.upper()
    return any(fnmatchcase(name, pattern.upper()) for pattern in patterns)
