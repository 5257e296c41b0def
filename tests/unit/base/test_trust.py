"""Permissions: one spelling each, given once, remembered, withdrawn, and never given by who names a thing."""

from __future__ import annotations

import pytest

from aspectra.base import trust
from aspectra.base.errors import NotTrusted, UsageError
from aspectra.base.trust import ASK, Permission, allow, allowed, allows, key_for, refused, require, withdraw

pytestmark = pytest.mark.usefixtures("home")

HOST = Permission.host("https://models.example.org/v1", "MY_KEY")


@pytest.fixture
def asked():
    """Questions that were put; the answers are those in its second list, in order."""
    questions, answers = [], []

    def ask(question):
        questions.append(question)
        return answers.pop(0)

    token = ASK.set(ask)
    yield questions, answers
    ASK.reset(token)


@pytest.mark.parametrize(
    "spelling",
    [
        "https://x.org",
        "http://127.0.0.1:8000 with A_KEY",
        "model:owner/name@refs/pr/1",
        "code:/a folder/x",
        "library:/a folder/x.lib",
    ],
)
def test_a_permission_prints_as_it_parses(spelling):
    assert str(Permission.parse(spelling)) == spelling


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://X.org:443/v1", "https://x.org"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_a_host_has_one_spelling(one, other):
    assert Permission.parse(one) == Permission.parse(other)


@pytest.mark.parametrize(
    "wrong",
    ["", "x.org", "ftp://x.org", "https://", "https://$(reboot)", "https://a b", "model:", "https://x with 9",
     "https://x.org:99999", "https://x\n.org\x1b[31m"],
)  # fmt: skip
def test_what_is_no_permission(wrong):
    with pytest.raises(UsageError):
        Permission.parse(wrong)


@pytest.mark.parametrize(
    ("host", "spelt"),
    [
        ("straße.de", "xn--strae-oqa.de"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("faß.de", "xn--fa-hia.de"),
    ],
)
def test_a_name_that_can_stand_for_two_hosts_is_refused_with_the_one_to_write(host, spelt):
    """Python spells straße.de as strasse.de, and the library that connects as xn--strae-oqa.de."""
    allow(Permission.host("https://strasse.de"))
    with pytest.raises(UsageError, match=f"write it as {spelt}"):
        Permission.host(f"https://{host}/v1")
    assert Permission.host(f"https://{spelt}/v1").name == f"https://{spelt}"


def test_nothing_is_permitted_before_it_is_given():
    with pytest.raises(NotTrusted) as caught:
        require(HOST, "the library")
    assert caught.value.what == "texts and the key in MY_KEY would be sent to https://models.example.org"
    assert caught.value.hint == (
        "if you trust it: aspectra config trust https://models.example.org --key MY_KEY"
    )
    assert not trust.trust_file().exists()


def test_a_permission_is_remembered_and_withdrawn():
    allow(HOST)
    assert allowed() == [HOST]
    assert (key_for(HOST.name), key_for("https://other.example")) == ("MY_KEY", "")
    require(HOST, "the library")
    require(Permission.host(HOST.name), "the library")  # without the key is less
    for more in ("https://models.example.org:8443", "http://models.example.org", "https://example.org"):
        assert not allows(Permission.host(more))
    assert not allows(Permission.host(HOST.name, "OPENAI_API_KEY"))
    assert withdraw("https://models.example.org")
    assert not allows(Permission.host(HOST.name))
    assert not withdraw("https://models.example.org")


def test_a_host_has_one_key():
    allow(HOST)
    allow(Permission.host(HOST.name))  # takes nothing away
    assert key_for(HOST.name) == "MY_KEY"
    allow(Permission.host(HOST.name, "OTHER"))
    assert key_for(HOST.name) == "OTHER"
    assert len(allowed()) == 1


def test_the_question_names_host_variable_and_what_is_sent_and_is_put_once(asked):
    questions, answers = asked
    answers[:] = [False]
    for _ in range(2):
        with pytest.raises(NotTrusted):
            require(HOST, "the library")
    assert questions == [
        "texts and the key in MY_KEY would be sent to https://models.example.org: the library names it. "
        "Permit this from now on?"
    ]
    assert refused() == [HOST]
    allow(HOST)  # the user's own word is above an answer
    assert (allowed(), refused()) == ([HOST], [])
    require(HOST, "the library")
    answers[:] = [True]
    require(Permission("model", "owner/name"), "the library")
    require(Permission("model", "owner/name"), "the library")
    assert len(questions) == 2


def test_a_spelling_in_a_command_runs_nothing():
    needed = Permission("model", "x; touch /tmp/$(id)'")
    with pytest.raises(NotTrusted) as caught:
        require(needed, "the library")
    assert caught.value.hint.endswith("""'model:x; touch /tmp/$(id)'"'"''""")


def test_a_damaged_file_permits_nothing_and_is_named():
    allow(HOST)
    trust.trust_file().write_text("allowed = [[", "utf-8")
    with pytest.raises(UsageError, match=r"trust\.toml cannot be read"):
        require(HOST, "the library")


def test_a_file_that_cannot_be_written_is_no_failure(home, caplog):
    (home / "config").write_text("no folder", "utf-8")
    one = Permission("model", "for/this-command")
    allow(one)
    assert allows(one)
    assert "for this command only" in caplog.text
    trust._unwritten.clear()


def test_an_address_in_the_environment_is_the_users(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
    assert allows(Permission.host("http://127.0.0.1:8000", "OPENAI_API_KEY"))
    assert not allows(Permission.host("http://127.0.0.1:6379"))
    monkeypatch.setenv("OPENAI_BASE_URL", "nonsense")
    assert not allows(Permission.host("http://127.0.0.1:8000"))
