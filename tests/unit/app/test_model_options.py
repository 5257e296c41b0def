"""The options about a language model become settings; keys never come from anywhere but the environment."""

from __future__ import annotations

import pytest

from aspectra.app.options import cost_in_words, model_settings, read_limits
from aspectra.app.session import CommonOptions, Session, _let_permissions_be_asked
from aspectra.base.errors import NotTrusted, UsageError
from aspectra.base.trust import ASK, Permission, allow, require, withdraw
from aspectra.llm.assemble import build_model
from aspectra.llm.budget import Cost, Limits
from aspectra.llm.chat import KeyRefused


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in ("ASPECTRA_LLM_MODEL", "ASPECTRA_LLM_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    # Setting and deleting makes monkeypatch put it back, whatever the session writes there.
    monkeypatch.setenv("ASPECTRA_OFFLINE", "")
    return Session()


def test_limits_are_read_as_people_write_them():
    assert read_limits("") == Limits()
    assert read_limits("3calls") == Limits(calls=3)
    assert read_limits("20k tokens, 0.5") == Limits(tokens=20_000, money=0.5)


@pytest.mark.parametrize(
    "wrong", [" ", "3calls,", "much", "3 dollars", "-1", "1.5calls", "1calls,2calls", "1e9"]
)
def test_a_limit_that_is_not_understood_is_refused(wrong):
    with pytest.raises(UsageError):
        read_limits(wrong)


def test_a_command_without_a_model_says_how_to_name_one(session):
    with pytest.raises(UsageError, match="no language model is named") as error:
        model_settings(session)
    assert "aspectra config set llm.model" in error.value.hint


def test_options_come_before_the_environment_and_that_before_the_file(session, tmp_path, monkeypatch):
    allow(Permission.folder(str(tmp_path), "settings"))
    (tmp_path / "aspectra.toml").write_text('[llm]\nmodel = "of-file"\nbase_url = "http://file/v1"\n')
    assert model_settings(session).model == "of-file"
    monkeypatch.setenv("ASPECTRA_LLM_MODEL", "of-environment")
    assert model_settings(Session()).model == "of-environment"
    given = [
        "llm.model=of-flag",
        "llm.budget=2calls",
        "llm.lanes=3",
        "llm.timeout=300",
        f"llm.journal={tmp_path / 'j.db'}",
    ]
    made = model_settings(Session(CommonOptions(set_=given)))
    assert (made.model, made.base_url, made.lanes) == ("of-flag", "http://file/v1", 3)
    assert (made.timeout, made.seconds) == (300.0, 600.0)
    assert made.limits == Limits(calls=2)
    assert made.journal == tmp_path / "j.db"
    extra = CommonOptions(set_=['llm.extra={"top_k": 20, "temperature": null}'])
    assert (model_settings(Session(extra)).extra, model_settings(Session(extra)).omit) == (
        {"top_k": 20},
        ("temperature",),
    )
    with pytest.raises(UsageError, match="not a JSON object"):
        model_settings(Session(CommonOptions(set_=["llm.extra=top_k"])))


def test_settings_that_were_read_before_do_not_hide_the_options_of_a_command(session):
    assert session.settings.search.limit == 10
    session.override(search__limit=3, search__evidence=None)
    assert session.settings.search.limit == 3
    assert session.settings.search.evidence == 1


def test_a_journal_in_a_file_is_relative_to_that_file(session, tmp_path):
    allow(Permission.folder(str(tmp_path), "settings"))
    (tmp_path / "aspectra.toml").write_text('[llm]\nmodel = "m"\njournal = "calls.db"\n')
    assert model_settings(session).journal == tmp_path / "calls.db"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("llm.model", "not KEY=VALUE"),
        ("llm.modle=x", "did you mean llm.model"),
        ("llm.lanes=0", "1 or more"),
        ("limit=many", "did you mean search.limit"),
    ],
)
def test_a_setting_on_the_command_line_is_checked(tmp_path, session, given, said):
    with pytest.raises(UsageError) as error:
        Session(CommonOptions(set_=[given])).settings  # noqa: B018
    assert said in str(error.value)


def test_offline_reaches_the_settings(session):
    assert model_settings(Session(CommonOptions(offline=True, set_=["llm.model=m"]))).offline


def test_a_key_in_the_file_is_refused(session, tmp_path):
    (tmp_path / "aspectra.toml").write_text('[llm]\napi_key = "abcdefgh"\n')
    with pytest.raises(UsageError, match="secret"):
        model_settings(session)


def test_unknown_money_is_never_nought():
    assert "unknown" in cost_in_words(Cost(calls=1, unpriced=1))
    assert "0.25 EUR" in cost_in_words(Cost(calls=1, money=0.25), "EUR")
    assert "3 from the journal" in cost_in_words(Cost(recorded=3))


# --- a project's file may come with somebody else's work -------------------------------------------------


@pytest.fixture
def project(session, tmp_path, monkeypatch):
    """Writes the project's file and returns the model's settings."""
    for name in ("ASPECTRA_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    allow(Permission.folder(str(tmp_path), "settings"))

    def write(text, **options):
        (tmp_path / "aspectra.toml").write_text(text)
        return model_settings(Session(CommonOptions(**options)))

    return write


OTHERS = '[llm]\nmodel = "m"\nbase_url = "https://else.example/v1"\n'


def test_an_address_in_a_project_s_file_needs_a_permission(project, tmp_path, monkeypatch):
    monkeypatch.setenv("ASPECTRA_API_KEY", "of-my-own-host")
    settings = project(OTHERS)
    assert settings.named_by == str(tmp_path / "aspectra.toml")
    with pytest.raises(NotTrusted, match=r"texts, and no key, would be sent to https://else\.example"):
        build_model(settings)
    allow(Permission.host("https://else.example"))
    with build_model(settings) as model, pytest.raises(KeyRefused, match="no key for the endpoint"):
        model._client._check()  # the key of another host does not go along
    allow(Permission.host("https://else.example", "ITS_KEY"))
    monkeypatch.setenv("ITS_KEY", "of-that-host")
    with build_model(settings) as model:
        assert model._client._endpoint.key() == "of-that-host"


def test_a_project_s_file_cannot_name_a_key_for_my_host(project, monkeypatch, tmp_path):
    monkeypatch.setenv("ASPECTRA_LLM_BASE_URL", "https://mine.example/v1")
    monkeypatch.setenv("CLOUD_SECRET", "much-more-than-a-model")
    settings = project('[llm]\nmodel = "m"\nkey_variable = "CLOUD_SECRET"\n')
    with pytest.raises(NotTrusted, match=r"the key in CLOUD_SECRET would be sent to https://mine\.example"):
        build_model(settings)


def test_a_project_s_file_cannot_send_my_key_to_another_host(project, monkeypatch):
    monkeypatch.setenv("ASPECTRA_LLM_KEY_VARIABLE", "MY_KEY")
    allow(Permission.host("https://else.example"))
    with pytest.raises(NotTrusted, match=r"the key in MY_KEY would be sent to https://else\.example"):
        build_model(project(OTHERS))


@pytest.mark.parametrize("options", [{"set_": ["llm.base_url=https://else.example/v1"]}, {"config": True}])
def test_what_the_user_names_needs_none(project, tmp_path, monkeypatch, options):
    monkeypatch.setenv("ASPECTRA_API_KEY", "k")
    if options.get("config"):
        options = {"config": tmp_path / "mine.toml"}
        options["config"].write_text(OTHERS)
    settings = project(OTHERS, **options)
    assert settings.named_by == ""
    with build_model(settings) as model:
        assert model._client._endpoint.key() == "k"


def test_a_project_s_file_can_switch_off_the_network_and_not_on(session, tmp_path, monkeypatch):
    user = tmp_path / "config" / "aspectra" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text("offline = true\n")
    (tmp_path / "aspectra.toml").write_text("offline = false\n")
    assert Session().settings.offline
    monkeypatch.setenv("ASPECTRA_OFFLINE", "0")
    assert not Session().settings.offline  # the environment is the user's
    monkeypatch.setenv("ASPECTRA_OFFLINE", "")
    user.write_text("offline = false\n")
    (tmp_path / "aspectra.toml").write_text("offline = true\n")
    assert Session().settings.offline


@pytest.mark.parametrize(
    "text",
    ['[search]\nrecipe = "bm25 | rerank"', *(f"[llm]\n{one}" for one in ('budget = ""', 'model = "m"'))],
)
def test_a_project_s_file_does_not_say_what_is_spent(project, monkeypatch, tmp_path, text):
    monkeypatch.setenv("ASPECTRA_LLM_BASE_URL", "https://mine.example/v1")
    mine = {"set_": ["llm.model=mine"]} if "model" not in text else {}
    settings = f"settings:{tmp_path}"
    assert project(text, **mine).model
    assert withdraw(settings)
    with pytest.raises(NotTrusted, match="may spend") as error:
        project(text, **mine)
    assert error.value.hint == f"if you trust it: aspectra config trust {settings}"
    assert project(text, offline=True, **mine).offline  # from the journal alone
    given = ["llm.model=mine", "llm.budget=5calls", "search.recipe=bm25"]
    assert project(text, set_=given).model == "mine"  # what the user says in its place needs none


@pytest.mark.parametrize("journal", ["../calls.db", "/var/tmp/calls.db", "a/../../calls.db"])
def test_a_project_s_file_keeps_its_journal_in_its_folder(project, journal):
    with pytest.raises(NotTrusted, match="outside of that folder"):
        project(f'[llm]\nmodel = "m"\njournal = "{journal}"\n')


def test_the_question_is_put_on_a_terminal_only(session, monkeypatch):
    questions = []
    monkeypatch.setattr("typer.confirm", lambda text, **_: bool(questions.append(text)))
    for terminal in (False, True):
        monkeypatch.setattr("sys.stdin.isatty", lambda there=terminal: there, raising=False)
        monkeypatch.setattr("sys.stderr.isatty", lambda there=terminal: there, raising=False)
        for quiet in (True, False):
            _let_permissions_be_asked(Session(CommonOptions(quiet=quiet)))
            with pytest.raises(NotTrusted):
                require(Permission.host("https://else.example", "A_KEY"), "the \x1b[31mlibrary\nx")
    ASK.set(None)
    assert questions == [
        "texts and the key in A_KEY would be sent to https://else.example: the library x names it. "
        "Permit this from now on?"
    ]
