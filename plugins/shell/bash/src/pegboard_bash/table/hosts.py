"""Programs that talk to other machines or to a daemon. Reading there is reading, but it is the open world."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from pegboard_bash.effects import Effects
from pegboard_bash.programs import Program
from pegboard_bash.scripts.jq import check_jq
from pegboard_bash.words import Word, names

GH = (
    "-R: -L: -q: -t: -s: -S: -l: -a: -A: -B: -H: -w: -b: -u: -e: -j: --repo= --limit= --json= --jq= --template= "
    "--state= "
    "--search= --label= --assignee= --author= --base= --head= --comments --patch --name-only --workflow= --branch= "
    "--user= --event= --status= --commit= --verbose --milestone= --mention= --app= --draft --all --created= --order= "
    "--sort= --owner= --language= --visibility= --archived --source --fork --color= --required --exit-status --job= "
    "--attempt= --exclude-drafts --exclude-pre-releases --log --log-failed --closed"
)
DOCKER = "-aqnls -f: -n: --all --quiet --no-trunc --filter= --format= --last= --latest --size --digests --human=?"
KUBE = (
    "-AwLv -n: -o: -l: -c: -p -R --all-namespaces --namespace= --output= --selector= --field-selector= "
    "--show-labels "
    "--sort-by= --no-headers --container= --previous --tail= --since= --timestamps --all-containers --client --short "
    "--label-columns= --ignore-not-found --watch --containers --recursive --api-group= --namespaced=? --minify --prefix"
)


def _elsewhere(words: list[Word], effects: Effects) -> None:
    """An arbitrary host: the request itself could leak data to it."""
    for word in words:
        text = word.text.rpartition("=")[2] if word.text.startswith("--repo=") else word.text
        address = "://" in text and not text.startswith("https://github.com/")
        if address or text.startswith("//") or re.fullmatch(r"(-R)?[\w-]+(\.[\w-]+)+/[^/\s]+/[^/\s]+", text):
            effects.refuse(f"{word.source} names another host.")


def check_gh(words: list[Word], effects: Effects) -> None:
    """A GET is reading. `-w` opens a browser for most subcommands."""
    if effects.program != "gh run list" and any(re.fullmatch(r"-\w*w\w*", word.text) for word in words):
        effects.refuse("gh may open a browser.")
    _elsewhere(words, effects)
    check_jq(words, effects)


def check_gh_api(words: list[Word], effects: Effects) -> None:
    """`gh api` is a GET unless a field or another method is given."""
    for at, word in enumerate(words):
        found = re.fullmatch(r"(?:-\w*?X|--method)=?(.*)", word.text)
        method = found[1] or (words[at + 1].text if at + 1 < len(words) else "") if found else "GET"
        if method != "GET":
            effects.refuse(f"gh api sends {method}, which can change something.")
    _elsewhere(words, effects)
    check_jq(words, effects)


def check_kubectl(words: list[Word], effects: Effects) -> None:
    """An output that is read from a file, or a secret, is more than looking."""
    for word in words:
        if re.search(r"-file=|\bsecrets?\b", word.text):
            effects.refuse("kubectl may show a secret or read a file.")


def check_curl(words: list[Word], effects: Effects) -> None:
    """Curl and wget send what they are told; the hosts are noted for rules."""
    if [word.text for word in words] in (["--version"], ["-V"]):
        return
    effects.open_world = True
    effects.refuse(f"{effects.program} reaches the network.")
    for at, word in enumerate(words):
        if "://" in word.text and (host := _host(word.text)):
            effects.hosts.append(host)
        elif not word.text.startswith("-") and re.match(r"[\w-]+(\.[\w-]+)+(:\d+)?(/|$)", word.text):
            effects.hosts.append(word.text.partition("/")[0].partition(":")[0])
        if word.text in ("-o", "-O", "--output", "--output-document") and at + 1 < len(words) and word.text != "-O":
            effects.write(words[at + 1])


def _host(url: str) -> str:
    try:
        return urlsplit(url[max(0, url.find("http")) :] if "=" in url.partition("://")[0] else url).hostname or ""
    except ValueError:
        return ""


def _gh(*names: str) -> dict[str, Program]:
    return {name: Program(GH, "text*", check=check_gh, open_world=True) for name in names}


def _docker(options: str = "") -> Program:
    return Program(f"{DOCKER} {options}", "text*")


_LOGS = _docker("-tf --timestamps --tail= --since= --until= --details --follow")
_INSPECT = _docker("--type=")
_DOCKER = {
    "ps": _docker(),
    "images": _docker("--tree"),
    "version": _docker(),
    "info": _docker(),
    "inspect": _INSPECT,
    "logs": _LOGS,
    "top": Program("", "text"),
    "port": _docker(),
    "diff": _docker(),
    "history": _docker(),
    "stats": _docker("--no-stream"),
    "--version": Program(""),
    "-v": Program(""),
    "container": Program(
        subcommands={"ls": _docker(), "list": _docker(), "ps": _docker(), "logs": _LOGS, "inspect": _INSPECT}
    ),
    "compose": Program(subcommands={"version": Program("--short -f: --format=")}),
    "image": Program(subcommands={"ls": _docker(), "list": _docker(), "history": _docker(), "inspect": _INSPECT}),
    "volume": Program(subcommands={"ls": _docker(), "list": _docker(), "inspect": _INSPECT}),
    "network": Program(subcommands={"ls": _docker(), "list": _docker(), "inspect": _INSPECT}),
    "context": Program(subcommands={"ls": _docker(), "show": _docker()}),
    "system": Program(subcommands={"df": _docker("-v"), "info": _docker()}),
}
_KUBE = Program(KUBE, "text*", check=check_kubectl, open_world=True)

PROGRAMS = {
    "gh": Program(
        subcommands={
            "pr": Program(subcommands=_gh("view", "list", "diff", "checks", "status")),
            "issue": Program(subcommands=_gh("view", "list", "status")),
            "run": Program(subcommands=_gh("view", "list")),
            "repo": Program(subcommands=_gh("view", "list")),
            "release": Program(subcommands=_gh("view", "list")),
            "workflow": Program(subcommands=_gh("view", "list")),
            **{name: Program(subcommands=_gh("list")) for name in names("label cache secret variable org project")},
            "ruleset": Program(subcommands=_gh("list", "view", "check")),
            "gist": Program(subcommands=_gh("list", "view")),
            "status": Program("-o: -e: --org= --exclude=", open_world=True),
            "search": Program(subcommands=_gh("issues", "prs", "repos", "code", "commits")),
            "auth": Program(subcommands={"status": Program("", open_world=True)}),
            "api": Program(
                "-q: -t: -X: -i --jq= --template= --paginate --slurp --include --silent --method=",
                "text",
                check=check_gh_api,
                open_world=True,
            ),
            "--version": Program(""),
            "version": Program(""),
        },
        reads=("gh pr view 1 --comments", "gh run list --limit 5", "gh api repos/o/r", "gh pr list -L 5 --json title"),
        asks=(
            "gh pr create -t x",
            "gh repo view --web",
            "gh pr view 1 -w",
            "gh api repos/o/r -f a=b",
            "gh api x -XPOST",
            "gh pr merge 1",
        ),
    ),
    "docker podman": Program(
        subcommands=_DOCKER,
        reads=("docker ps -a --format '{{.Names}}'", "docker images", "docker logs --tail 5 web"),
        asks=(
            "docker run x",
            "docker -H tcp://x ps",
            "docker --context x ps",
            "docker exec web ls",
            "docker compose ps",
        ),
    ),
    "kubectl": Program(
        subcommands={
            **dict.fromkeys(names("get describe top explain api-resources api-versions cluster-info version"), _KUBE),
            "logs": Program(KUBE + " -f --follow --since-time= --limit-bytes=", "text*", open_world=True),
            "config": Program(
                subcommands=dict.fromkeys(("get-contexts", "current-context"), Program("-o: --output=", "text*"))
            ),
        },
        reads=("kubectl get pods -n web", "kubectl version --client"),
        asks=(
            "kubectl delete pod x",
            "kubectl --context x get pods",
            "kubectl get secret x -o yaml",
            "kubectl exec p -- ls",
        ),
    ),
    "curl wget": Program(
        check=check_curl, unknown_words=True, reads=("curl --version",), asks=("curl https://example.invalid", "wget x")
    ),
}
