"""Which places of a machine a reading command needs, and which it must never see. The one list of both.

Landlock only grants: `/etc` and the home are therefore named entry by entry, never as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"),
    *("/home/linuxbrew/.linuxbrew", "/snap"),
    *("/run/current-system/sw", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage"),
    *("/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/apt/lists", "/lib/apk"),
)
"""Programs, libraries, what is installed, and how many processors and how much memory there are."""

ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "ld-musl-x86_64.path", "ld-musl-aarch64.path"),
    *("localtime", "timezone", "locale.alias", "locale.conf", "locale.gen", "default/locale", "terminfo", "inputrc"),
    *("passwd", "group", "nsswitch.conf", "host.conf", "hosts", "hostname", "resolv.conf", "services", "protocols"),
    *("gitconfig", "gitattributes", "magic", "magic.mime", "mime.types", "mailcap", "DIR_COLORS", "manpath.config"),
    *("os-release", "debian_version", "lsb-release", "redhat-release", "fedora-release", "alpine-release", "issue"),
    *("ssl/openssl.cnf", "ssl/certs", "ca-certificates", "pki/tls/certs", "pki/tls/openssl.cnf"),
    *("pki/ca-trust/extracted", "crypto-policies", "alternatives", "shells", "dpkg", "fonts", "xdg", "perl"),
    *("mke2fs.conf", "papersize", "apk/arch", "apk/world", "python3", "python3.11", "python3.12", "python3.13"),
)

DEVICES = ("/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
NULL = "/dev/null"
PROCESSES = "/proc"

TOOLCHAINS = (
    *(".cargo/bin", ".cargo/registry", ".cargo/git", ".cargo/config", ".cargo/config.toml", ".cargo/env", ".rustup"),
    *(".nvm", ".fnm", ".volta/bin", ".volta/tools", ".nodenv", ".n/bin", ".npm-global", ".npm-packages", ".bun/bin"),
    *(".deno/bin", ".yarn/bin", ".pyenv", ".rye/shims", ".rye/py", ".local/share/uv", ".local/share/pipx"),
    *(".local/pipx/venvs", ".local/bin", ".local/lib", ".local/share/mise/installs", ".local/share/mise/shims"),
    *(".local/share/fnm", ".local/share/man", ".local/share/terminfo", ".asdf", ".rbenv", ".rvm", ".gem/ruby"),
    *(".bundle/cache", ".goenv", ".gvm", "go/bin", "go/pkg/mod", ".sdkman/candidates", ".jenv", ".m2/repository"),
    *(".gradle/wrapper/dists", ".dotnet", ".nuget/packages", ".ghcup/bin", ".ghcup/ghc", ".opam", ".juliaup/bin"),
    *(".conda/envs", ".miniconda3", "miniconda3", "anaconda3", "mambaforge", "miniforge3", ".nix-profile", ".pixi/bin"),
    *(".gitconfig", ".gitignore", ".gitignore_global", ".gitattributes"),
    *(".config/git/config", ".config/git/ignore", ".config/git/attributes"),
    *(".terminfo", ".inputrc", ".dircolors", ".ripgreprc", ".config/ripgrep", ".config/fd", ".config/bat", ".ackrc"),
    *(".nvmrc", ".node-version", ".python-version", ".ruby-version", ".tool-versions", ".editorconfig"),
    *("bin",),
)
"""Of the home: installed toolchains with their packages, and configuration that holds no secrets."""

CREDENTIALS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".config/gcloud", ".config/doctl", ".fly"),
    *(".config/gh", ".config/glab-cli", ".config/hub", ".config/op", ".config/rclone", ".config/sops", ".config/age"),
    *(".config/containers/auth.json", ".config/pip", ".config/pypoetry/auth.toml", ".config/configstore"),
    *(".config/anthropic", ".config/openai", ".config/github-copilot", ".config/fish/fish_variables"),
    *(".config/git/credentials", ".git-credentials", ".git-credential-cache", ".netrc", "_netrc", ".authinfo"),
    *(".authinfo.gpg", ".pgpass", ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".npmrc", ".yarnrc", ".yarnrc.yml"),
    *(".pypirc", ".pip", ".gem/credentials", ".bundle/config", ".cargo/credentials", ".cargo/credentials.toml"),
    *(".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config"),
    *(".composer/auth.json", ".config/composer/auth.json", ".terraform.d", ".terraformrc", ".vault-token", ".vaultrc"),
    *(".ansible", ".chef", ".heroku", ".databrickscfg", ".snowsql", ".kaggle", ".huggingface", ".cache/huggingface"),
    *(".local/share/keyrings", ".local/share/kwalletd", ".password-store", ".local/share/gnome-keyring", ".pki"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".electrum"),
    *(".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history"),
    *(".sqlite_history", ".rediscli_history", ".local/share/fish/fish_history", ".viminfo", ".lesshst", ".history"),
    *(".Xauthority", ".ICEauthority", ".dbus", ".vscode-server/data", ".config/Code/User/globalStorage"),
    *(".claude", ".claude.json", ".codex", ".gemini", ".cursor", ".config/pegboard", ".local/state/pegboard"),
)
"""Paths in the home that are never shown, even where the home itself is a working directory."""

SECRETS = (
    *("/proc", "/sys", "/dev", "/run", "/var/run", "/boot", "/lost+found", "/var/lib/docker", "/var/lib/containerd"),
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d"),
    *("/etc/ssl/private", "/etc/pki/tls/private", "/etc/ssh", "/etc/environment", "/etc/krb5.keytab", "/etc/fstab"),
    *("/etc/NetworkManager/system-connections", "/etc/wireguard", "/etc/openvpn", "/etc/ppp", "/etc/apt/auth.conf"),
    *("/etc/apt/auth.conf.d", "/etc/kubernetes", "/etc/rancher", "/etc/docker", "/etc/npmrc", "/etc/pegboard"),
    *("/var/spool", "/var/log", "/var/mail", "/var/lib/kubelet", "/var/lib/NetworkManager", "/var/lib/sss"),
)
"""Of the machine: left out also where a working directory is so far up that it holds them."""

NEVER = ("/proc", "/sys", "/dev")
"""A folder in one of these cannot be a working directory of a confined command."""


def credentials(home: str) -> Iterator[str]:
    """The places under a home that are left out of every grant."""
    return (f"{home}/{name}" for name in CREDENTIALS)


def both(paths: Iterable[str]) -> Iterator[str]:
    """Paths as they are spelled, and where they lead."""
    for path in paths:
        yield path
        yield os.path.realpath(path)


def programs(path: str, home: str) -> Iterator[str]:
    """The folders of PATH whose programs may run, and the environments that they belong to.

    A folder that holds more than programs, such as the home itself, is no such folder.
    """
    for folder in dict.fromkeys(path.split(":")):
        if not os.path.isabs(folder) or is_in(home, folder) or any(is_in(folder, place) for place in NEVER):
            continue
        yield folder
        above = os.path.dirname(folder)
        if os.path.exists(f"{above}/pyvenv.cfg") or (is_in(above, "/opt") and above != "/opt"):
            yield above


def environment(private: str) -> dict[str, str]:
    """What programs are told so that they stay readers: caches in the private folder, no locks, no start files."""
    return {
        "TMPDIR": private,
        "XDG_CACHE_HOME": f"{private}/cache",
        "GIT_OPTIONAL_LOCKS": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_CONFIG_FILE": NULL,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "npm_config_cache": f"{private}/npm",
        "npm_config_userconfig": NULL,
        "npm_config_update_notifier": "false",
        "CARGO_NET_OFFLINE": "true",
    }


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or is inside it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def repository_of(cwd: str) -> tuple[str, ...]:
    """The folders that git reads besides the files themselves, for a repository that begins further up."""
    folder = cwd
    while True:
        at = f"{folder.rstrip('/')}/.git"
        if os.path.isdir(at):
            return _with_common(at)
        if os.path.isfile(at):
            return _linked(at, folder)
        if folder == "/":
            return ()
        folder = os.path.dirname(folder)


def _linked(at: str, folder: str) -> tuple[str, ...]:
    """What a `.git` file leads to, if that belongs to it: a file that came with a project could name any repository."""
    text = _first_line(at)
    git = os.path.realpath(os.path.join(folder, text.removeprefix("gitdir:").strip()))
    is_worktree = os.path.realpath(os.path.join(git, _first_line(f"{git}/gitdir"))) == os.path.realpath(at)
    is_submodule = any(is_in(git, f"{above}/.git/modules") for above in _above(folder))
    if not text.startswith("gitdir:") or not (is_worktree or is_submodule):
        return ()
    return (at, *_with_common(git))


def _above(folder: str) -> Iterator[str]:
    while folder != "/":
        folder = os.path.dirname(folder)
        yield folder.rstrip("/")


def _with_common(git: str) -> tuple[str, ...]:
    """A repository's folder and the one that it shares with its worktrees, of which it must be one."""
    common = _first_line(f"{git}/commondir")
    if not common:
        return (git,)
    shared = os.path.realpath(os.path.join(git, common))
    return (git, shared) if is_in(os.path.realpath(git), f"{shared}/worktrees") else (git,)


def _first_line(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read(4096)).partition("\n")[0]
    except OSError:
        return ""
