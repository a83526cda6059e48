"""What a distribution declares of its settings: what is taken, and what is refused with which words."""

import json
from pathlib import Path

import pytest

from pegboard.errors import PluginError, SettingsError
from pegboard.plugins.declarations import declaration_file, read_declaration
from pegboard.settings import Keys, Layer, Settings, load

LIMIT = '[settings."acme.limit"]\nkind = "count"\ndefault = 5\ndoc = "How many."\n'


def read(tmp_path, text, dist="acme", *, own=False):
    path = tmp_path / "pegboard.toml"
    path.write_text(text)
    return read_declaration(str(path), dist, ["policy.acme", "acme.tool"], own=own)[0]


def keys(tmp_path, text):
    return Keys({"settings": read(tmp_path, text), "not_used": {}, "hooks": {}, "faults": [], "files": []})


def test_a_declaration_is_kept_with_its_owner_and_a_guard_with_its_policy_plugins(tmp_path):
    found = read(tmp_path, LIMIT + '[settings."acme.on"]\nkind = "bool"\nguard = true\ndoc = "A promise."\n')
    assert found["acme.limit"] == {"kind": "count", "default": 5, "doc": "How many.", "owner": "acme"}
    assert found["acme.on"]["plugins"] == ["policy.acme"]


DOC = 'doc = "It counts."\n'
REFUSED = {
    "no toml": ("[settings", "is not valid TOML"),
    "a table that is not known": ("[setings]\n", "there is no table 'setings'"),
    "a name without quotes": (f'[settings.acme.limit]\nkind = "count"\n{DOC}', "put the name of a setting in quotes"),
    "a field that is not known": (f'[settings."acme.a"]\nkind = "count"\ntype = "int"\n{DOC}', "no field 'type'"),
    "a field of ours": (f'[settings."acme.a"]\nkind = "count"\ncompatible = true\n{DOC}', "no field 'compatible'"),
    "a kind that is not known": (f'[settings."acme.a"]\nkind = "int"\n{DOC}', "needs a kind: one of bool, string,"),
    "no kind": (f'[settings."acme.a"]\n{DOC}', "needs a kind"),
    "no doc": ('[settings."acme.a"]\nkind = "count"\n', "needs a doc"),
    "a default that does not fit": (
        f'[settings."acme.a"]\nkind = "count"\ndefault = "5"\n{DOC}',
        'the default of acme.a must be a whole number of 1 or more, got "5".',
    ),
    "a combination that does not fit": (
        f'[settings."acme.a"]\nkind = "count"\ncombine = "union"\n{DOC}',
        "a setting of the kind count may combine as first, not 'union'",
    ),
    "a choice without choices": (
        f'[settings."acme.a"]\nkind = "choice"\n{DOC}',
        "choices belong to the kinds choice, map and lists",
    ),
    "somebody else's name": (f'[settings."other.a"]\nkind = "count"\n{DOC}', "must begin with the name of the distri"),
    "no group": (
        f'[settings."limit"]\nkind = "count"\n{DOC}',
        "the name of the distribution: acme.limit",
    ),
    "a setting of the core": (
        f'[settings."disable"]\nkind = "count"\n{DOC}',
        "must begin with the name of the distribution",
    ),
    "somebody else's variable": (
        f'[settings."acme.a"]\nkind = "count"\nvariable = "PATH"\n{DOC}',
        "the variable must begin with ACME_, got 'PATH'",
    ),
    "a flag that is no flag": (f'[settings."acme.a"]\nkind = "count"\nguard = "yes"\n{DOC}', "guard must be bool"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_declaration_that_cannot_be_used_says_why(case, tmp_path):
    text, words = REFUSED[case]
    with pytest.raises(PluginError, match=r"pegboard\.toml") as caught:
        read(tmp_path, text)
    assert words in str(caught.value)
    assert caught.value.kind == "bad-settings"


@pytest.mark.parametrize("dist", ["sandbox", "permissions", "read"])
def test_no_stranger_gets_the_name_of_a_group_of_ours(dist, tmp_path):
    with pytest.raises(PluginError, match="the name of a group of Pegboard's own settings"):
        read(tmp_path, f'[settings."{dist}.more"]\nkind = "count"\n{DOC}', dist)


def test_a_missing_file_names_the_entry_point(tmp_path):
    with pytest.raises(PluginError, match="No such file or directory"):
        read_declaration(str(tmp_path / "pegboard.toml"), "acme", [], own=False)


def test_the_file_of_a_package_is_found_without_importing_it(tmp_path):
    folder = tmp_path / "src" / "acme" / "inner"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('imported')")
    (folder / "pegboard.toml").write_text(LIMIT)
    places = [str(tmp_path), str(tmp_path / "src")]
    assert declaration_file("acme.inner", places) == str(folder / "pegboard.toml")
    assert declaration_file("acme.other", places) == str(tmp_path / "acme/other/pegboard.toml")


def test_the_declared_default_is_returned_and_is_nobodys_to_change(tmp_path):
    text = f'{LIMIT}[settings."acme.words"]\nkind = "strings"\ndefault = ["a"]\n{DOC}'
    settings = Settings([], keys=keys(tmp_path, text))
    assert settings.get("acme.limit") == settings.get("acme.limit", 7) == 5
    settings.get("acme.words").append("b")
    assert settings.get("acme.words") == ["a"]


def test_a_setting_that_nothing_declares_needs_a_default(tmp_path):
    settings = Settings([Layer("user", "u", {"acme.limt": 3})], keys=keys(tmp_path, LIMIT))
    assert settings.get("acme.limt", 9) == 9
    with pytest.raises(KeyError, match=r"declares the setting 'acme.limt'. Did you mean 'acme.limit'\?"):
        settings.get("acme.limt")


KINDS = {
    "integer": (-3, "3", "a whole number"),
    "number": (0.5, True, "a number"),
    "object": ({"a": [1]}, [], "an object"),
    "lists": ({"a": [1]}, {"a": 1}, "an object with a list for each name"),
    "string": ("a", "", "text"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_checked_against_its_kind_and_the_line_is_named(kind, tmp_path):
    good, bad, wanted = KINDS[kind]
    known = keys(tmp_path, f'[settings."acme.a.b"]\nkind = "{kind}"\n{DOC}')
    env, file = {"HOME": str(tmp_path)}, tmp_path / ".pegboard/settings.json"
    file.parent.mkdir()
    for value in (good, bad):
        file.write_text(json.dumps({"acme": {"a": {"b": value}}}, indent=1))
        settings = load(tmp_path / "work", env, managed=str(tmp_path / "none"), keys=known)
        if value is good:
            assert settings.get("acme.a.b") == good
        else:
            (problem,) = settings.problems
            assert f"{file}:4:9: acme.a.b must be {wanted}, got " in str(problem)


def test_a_variable_of_a_stranger_is_read_by_its_kind(tmp_path):
    text = "".join(
        f'[settings."acme.{kind}"]\nkind = "{kind}"\nvariable = "ACME_{kind.upper()}"\n{DOC}'
        for kind in ("integer", "number", "string", "strings", "object")
    )
    env = {"ACME_INTEGER": "-2", "ACME_NUMBER": "0.5", "ACME_STRING": "x", "ACME_STRINGS": "a, b"}
    env |= {"ACME_OBJECT": '{"k": 1}', "ACME_OTHER": "none of ours", "HOME": str(tmp_path)}
    settings = load(tmp_path, env, managed=str(tmp_path / "none"), keys=keys(tmp_path, text))
    assert settings.notices == settings.problems == []
    assert [settings.get(f"acme.{kind}") for kind in ("integer", "number", "string", "strings", "object")] == [
        -2,
        0.5,
        "x",
        ["a", "b"],
        {"k": 1},
    ]


def managed(tmp_path, values):
    (tmp_path / "managed").mkdir(exist_ok=True)
    (tmp_path / "managed/settings.json").write_text(json.dumps(values))
    return load(tmp_path / "work", {"HOME": str(tmp_path)}, managed=str(tmp_path / "managed"))


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        ({"sandbx": {"enabled": True}}, "sandbox"),
        ({"sandbox": {"enable": True}}, "sandbox.enabled"),
        ({"permissions": {"dney": ["Bash"]}}, "permissions.deny"),
        ({"hoks": {}}, "hooks"),
        ({"disabel": ["web"]}, "disable"),
        ({"allowManagedHookOnly": True}, "allowManagedHooksOnly"),
    ],
)
def test_a_misspelt_promise_of_the_owner_is_a_problem(values, meant, tmp_path):
    settings = managed(tmp_path, values)
    with pytest.raises(SettingsError, match=rf"There is no setting .* Did you mean '{meant}'\?"):
        settings.require_sound()


def test_another_unknown_key_of_the_owner_is_a_notice(tmp_path):
    settings = managed(tmp_path, {"acme": {"limit": 5}})
    assert settings.problems == []
    assert "There is no setting 'acme'." in str(settings.notices[0])


def test_a_setting_of_ours_that_is_not_installed_names_its_distribution(tmp_path):
    path = tmp_path / ".pegboard/settings.json"
    path.parent.mkdir()
    path.write_text('{"webfetch": {"cacheSeconds": 3}, "sandbox": {"mechanism": "auto"}}')
    settings = load(tmp_path / "work", {"HOME": str(tmp_path)}, managed=str(tmp_path / "none"), keys=Keys())
    assert [str(notice).partition(": ")[2] for notice in settings.notices] == [
        "There is no setting 'webfetch'. It may belong to pegboard-webfetch, which is not installed.",
        "There is no setting 'sandbox.mechanism'. It may belong to pegboard-sandbox, which is not installed.",
    ]


def test_what_promises_protection_and_is_not_declared_is_remembered(tmp_path):
    path: Path = tmp_path / "work/.pegboard/settings.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"hooks": {"Stop": []}, "sandbox": {"enabled": true, "filesystem": {"denyRead": ["~/.ssh"]}}}')
    env = {"HOME": str(tmp_path)}
    untrusted = load(tmp_path / "work", env, managed=str(tmp_path / "none"), keys=Keys())
    assert untrusted.unkept == [("sandbox.filesystem.denyRead", str(path))]  # The rest would wait for trust.
    trusted = load(tmp_path / "work", env, managed=str(tmp_path / "none"), keys=Keys(), trusted=True)
    assert [name for name, _ in trusted.unkept] == ["hooks", "sandbox.enabled", "sandbox.filesystem.denyRead"]
