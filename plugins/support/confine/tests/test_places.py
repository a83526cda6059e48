"""What a confined command can read, and what it cannot although it lies in its way."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from pegboard_confine import Access, CannotHideError, confinement_for, survey, why_not

KEY = "PRIVATE KEY"


def put(path: Path, text: str = KEY) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")
    return path


@pytest.mark.parametrize(
    "command",
    [
        "cat notes.txt",
        "ls -l",
        "id",
        "cat /etc/passwd | head -1",
        "cat /etc/os-release",
        "date",
        "find . -name '*.txt'",
        "diff <(cat notes.txt) <(cat notes.txt) && echo same",
        "cat <<< text",
        "sort /usr/share/common-licenses/* 2>/dev/null | tail -1; echo",
        "nice -n 5 echo fine",
        "timeout 5 echo fine",
        "git --version",
        "python3 --version",
        "seq 5 | tee /dev/null | wc -l",
        "cat /dev/stdin < notes.txt",
    ],
)
def test_readers_work(command, room):
    ended = room.run(command)
    assert (ended.code, "denied" in ended.text) == (0, False), ended.text
    assert ended.text


def test_what_a_rule_hides_is_left_out_and_its_siblings_are_not(room):
    secret, public = put(room.inside / "secrets/deep/key"), put(room.inside / "src/a.txt", "public")
    beside = put(room.inside / "config/public.txt", "beside")
    hidden = put(room.inside / "config/hidden.txt")
    seeing = room.seeing(hidden=(str(room.inside / "secrets"), str(hidden)))
    text = seeing.run("find . -type f -exec cat {} +; cat secrets/deep/key config/hidden.txt; grep -r PRIVATE .").text
    assert KEY not in text
    assert [word in text for word in ("public", "beside", "notes")] == [True] * 3
    assert all(path.exists() for path in (secret, public, beside))


def test_rules_at_any_depth_are_found_by_a_search(room):
    put(room.inside / "a/b/.env")
    put(room.inside / ".env")
    put(room.inside / "a/b/c.txt", "public")
    os.symlink("a/b/real", room.inside / "linked.env")
    put(room.inside / "a/b/real")
    seeing = room.seeing(may_read=lambda path: not path.endswith(".env"), rules="no .env")
    text = seeing.run("cat .env a/b/.env linked.env a/b/real; grep -r . .").text
    assert KEY not in text
    assert "public" in text


def test_a_file_that_appears_later_is_hidden_too(room):
    seeing = room.seeing(may_read=lambda path: not path.endswith(".env"), rules="no .env")
    put(room.inside / "a/b/c.txt", "public")
    assert "public" in seeing.run("cat a/b/c.txt").text
    put(room.inside / "a/b/.env")
    assert KEY not in seeing.run("cat a/b/.env").text
    (room.inside / "a/b/.env").rename(room.inside / "a/b/plain")
    put(room.inside / "a/new/c.txt", "another")
    assert "another" in seeing.run("cat a/new/c.txt").text


def test_a_folder_that_takes_a_hidden_name_is_hidden(room):
    put(room.inside / "secrets/key")
    put(room.inside / "other/key", "ANOTHER KEY")
    seeing = room.seeing(hidden=(str(room.inside / "secrets"),))
    assert "ANOTHER KEY" in seeing.run("cat other/key").text
    (room.inside / "secrets").rename(room.inside / "old")
    (room.inside / "other").rename(room.inside / "secrets")
    assert "ANOTHER KEY" not in seeing.run("cat secrets/key").text


def test_hidden_by_a_search_also_when_a_folder_has_just_been_looked_at(room):
    """Times of folders are coarse: two changes can look like one."""
    seeing = room.seeing(may_read=lambda path: not path.endswith(".env"), rules="no .env")
    for number in range(20):
        put(room.inside / f"{number}.txt", "x")
        seeing.run("true")
        put(room.inside / f"{number}.env")
        assert KEY not in seeing.run("cat *.env").text


@pytest.fixture
def home(room, tmp_path) -> Path:
    made = tmp_path.resolve() / "home"
    for name in (
        ".ssh/id_rsa",
        ".aws/credentials",
        ".cargo/credentials.toml",
        ".netrc",
        ".config/gh/x.yml",
        ".npmrc",
    ):
        put(made / name)
    put(made / ".gitconfig", "[user]\n\tname = public")
    put(made / ".cargo/registry/public.txt", "public")
    put(made / "project/notes.txt", "notes")
    return made


def test_of_the_home_only_toolchains_are_granted(room, home):
    seeing = room.seeing(home=str(home))
    text = seeing.run("cat ~/.gitconfig ~/.cargo/registry/public.txt; cat ~/project/notes.txt; grep -r . ~").text
    assert text.count("public") >= 2
    assert "notes" not in text.replace("notes.txt", "")
    assert KEY not in text


def test_credentials_are_left_out_where_the_home_is_the_working_directory(room, home):
    seeing = room.seeing(home=str(home), directories=(str(home),))
    text = seeing.run(f"cd {home}; cat project/notes.txt; grep -r . {home}; cat ~/.ssh/* ~/.aws/* ~/.netrc").text
    assert "notes" in text
    assert KEY not in text
    put(home / ".kube/config")
    assert KEY not in seeing.run(f"cat {home}/.kube/config").text


def test_a_working_directory_among_credentials_is_refused(room, home):
    with pytest.raises(CannotHideError, match="is hidden"):
        confinement_for(Access((str(home / ".ssh"),), str(home)), room.kind)
    with pytest.raises(CannotHideError):
        confinement_for(Access((f"/proc/{os.getpid()}",), str(home)), room.kind)


def test_even_the_root_as_working_directory_shows_no_secrets_of_the_machine(room, home, monkeypatch):
    monkeypatch.setattr(survey, "MOST_GRANTS", 100_000)  # Other tests may have filled the folder for temporary files.
    seeing = room.seeing(home=str(home), directories=("/",))
    assert seeing.run("cat /etc/hostname").code == 0
    for path in ("/etc/shadow", "/proc/$PPID/environ", "/proc/version", str(home / ".ssh/id_rsa")):
        assert seeing.run(f"cat {path}").code == 1


def test_too_much_to_search_is_said(room, monkeypatch):
    monkeypatch.setattr(survey, "MOST_ENTRIES", 10)
    for number in range(20):
        put(room.inside / f"{number}.txt", "x")
    wanted = room.seeing(may_read=lambda path: not path.endswith(".env"), rules="few").wanted
    assert "too many files" in why_not(wanted, room.kind)
    monkeypatch.setattr(survey, "MOST_GRANTS", 5)
    wanted = room.seeing(hidden=(str(room.inside / "1.txt"),)).wanted
    assert "too many entries" in why_not(wanted, room.kind)


def test_a_file_elsewhere_that_somebody_allowed_is_granted(room):
    seeing = room.seeing(reads=(str(room.outside / "secret.txt"),))
    assert seeing.run("cat ../outside/secret.txt").text == "secret\n"
    put(room.outside / "other.txt")
    assert KEY not in seeing.run("cat ../outside/other.txt").text


def test_a_replaced_file_is_still_granted(room, home):
    seeing = room.seeing(home=str(home))
    assert "public" in seeing.run("cat ~/.gitconfig").text
    put(home / ".gitconfig.new", "[user]\n\tname = replaced").rename(home / ".gitconfig")
    assert "replaced" in seeing.run("cat ~/.gitconfig").text
    time.sleep(2.1)
    assert "replaced" in seeing.run("cat ~/.gitconfig").text
    put(home / ".gitconfig.new", "[user]\n\tname = again").rename(home / ".gitconfig")
    assert "again" in seeing.run("cat ~/.gitconfig").text


def test_the_repository_of_a_worktree_is_granted_to_git_alone(room, tmp_path):
    main, linked = tmp_path.resolve() / "main", tmp_path.resolve() / "linked"
    config = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    who = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    for words in (("init", "-q", str(main)), ("-C", str(main), *who, "commit", "-qm", "first", "--allow-empty")):
        subprocess.run(("git", *words), env=config, check=True)
    add = ("git", "-C", str(main), "worktree", "add", "-q", str(linked))
    subprocess.run(add, env=config, check=True, capture_output=True)
    seeing = room.seeing(directories=(str(linked),))
    assert seeing.run(f"git -C {linked} log --oneline").code != 0
    assert "first" in seeing.seeing(repository=True).run(f"git -C {linked} log --oneline").text
    (linked / ".git").write_text(f"gitdir: {room.outside}\n")
    assert "secret\n" not in seeing.seeing(repository=True).run("cat ../outside/secret.txt").text


def test_a_git_file_cannot_name_any_repository(room, tmp_path):
    """One that came with a project, and leads to a repository that knows nothing of it."""
    private = tmp_path.resolve() / "private/.git/worktrees/x"
    put(private / "HEAD", "ref: refs/heads/main")
    put(private / "commondir", "../..")
    put(private / "gitdir", "/elsewhere/.git")
    put(tmp_path / "private/.git/HEAD", "ref: refs/heads/main")
    put(tmp_path / "private/.git/config", f"[x]\n\ty = {KEY}")
    put(room.inside / ".git", f"gitdir: {private}")
    assert KEY not in room.seeing(repository=True).run("cat ../private/.git/config").text


def test_a_link_to_a_credential_is_not_granted_by_a_rule_on_the_link(room, home):
    os.symlink(home / ".ssh/id_rsa", room.outside / "link")
    seeing = room.seeing(home=str(home), reads=(str(room.outside / "link"),))
    assert KEY not in seeing.run("cat ../outside/link").text
    assert KEY in room.seeing(home=str(home), reads=(str(home / ".ssh/id_rsa"),)).run("cat ~/.ssh/id_rsa").text
