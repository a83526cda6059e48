"""The specification of the hooks of a session: what is read of it is what Python sees."""

import inspect

import pytest

from pegboard.errors import PluginError
from pegboard.hookspecs import CORE_HOOKS
from pegboard.plugins.hook_checks import known_hooks, read_hooks
from pegboard_session.hookspecs import SessionHooks

FILE, VALUE = inspect.getsourcefile(SessionHooks), "pegboard_session.hookspecs:SessionHooks"


def test_reading_the_specification_finds_what_python_sees():
    found = read_hooks(FILE, VALUE, "pegboard-session", {})
    hooks = {name: hook for name, hook in vars(SessionHooks).items() if not name.startswith("_")}
    assert found == {
        name: {
            "owner": "pegboard-session",
            "parameters": list(inspect.signature(hook).parameters)[1:],
            "awaits": inspect.iscoroutinefunction(hook),
        }
        for name, hook in hooks.items()
    }
    assert {name: known_hooks()[name] for name in found} == found
    assert not found.keys() & CORE_HOOKS.keys()


def test_nobody_else_may_specify_them():
    with pytest.raises(PluginError, match="the hook register_providers belongs to pegboard-session"):
        read_hooks(FILE, VALUE, "acme", {})
