"""Which mechanism holds a process, and what this machine can and cannot do."""

from __future__ import annotations

from pegboard import Fine, Settings, hookimpl
from pegboard_sandbox import bubblewrap, landlock, launch
from pegboard_sandbox.credentials import faults
from pegboard_sandbox.policy import Policy
from pegboard_sandbox.rules import from_rules

REMEDY = "Install bubblewrap and allow user namespaces, or set sandbox.enabled to false."


def choose(policy: Policy, *, network: bool) -> tuple[str, str]:
    """The mechanism to use; or none, and why."""
    problems = []
    if policy.mechanism != "landlock":
        problem = bubblewrap.trouble(bubblewrap.find())
        if not problem:
            return "bubblewrap", ""
        problems.append(problem)
    if policy.mechanism != "bubblewrap":
        problem = landlock.trouble(policy, network=network)
        if not problem:
            return "landlock", ""
        problems.append(problem)
    return "", " and ".join(problems)


@hookimpl
def diagnose(settings: Settings) -> list[str]:
    """Say what this machine can do, why it cannot do what the settings ask for, and what is not held."""
    return [*_about_mechanism(settings), *faults(settings)]


def _about_mechanism(settings: Settings) -> list[str]:
    policy = Policy.of(settings)
    if policy is None:
        return [Fine(f"Switched off. {_available()}")]
    mechanism, problem = choose(policy, network=True)
    if not mechanism:
        return [f"The sandbox is on, but {problem}. {REMEDY}"]
    name = "Landlock" if mechanism == "landlock" else mechanism
    found: list[str] = [Fine(f"On, with {name}; the network is {policy.network}. {_available()}")]
    if mechanism == "landlock":
        why = f", because {bubblewrap.trouble(bubblewrap.find())}" if policy.mechanism == "auto" else ""
        found.append(f"The sandbox uses Landlock{why}. {landlock.LIMITS}")
        if policy.hidden_by_rules:
            found.append(
                "Rules that deny Read do not apply to the programs that a command starts: Landlock cannot hide files."
            )
    found += [
        f"The rule {rule.text} in {rule.shown} does not apply to what a command starts: "
        "a sandbox protects single files "
        "and folders."
        for rule in from_rules(settings).left_out
    ]
    if policy.network == "on":
        found.append("The sandbox leaves the network open: sandbox.network.mode is on.")
    if policy.network != "proxy" and policy.domains:
        found.append(f"sandbox.network.allowedDomains is not used: sandbox.network.mode is {policy.network}.")
    return found


def _available() -> str:
    trouble, version = bubblewrap.trouble(bubblewrap.find()), launch.abi()
    first = f"bubblewrap cannot be used ({trouble})" if trouble else f"bubblewrap can be used ({bubblewrap.find()})"
    second = f"Landlock can (version {version})" if version else "Landlock cannot (this kernel has none)"
    return f"Here {first}, {second}."
