"""The options about a language model become settings; keys never come from anywhere but the environment."""

from __future__ import annotations

import pytest

from aspectra.app.options.model import cost_in_words, model_settings, read_limits
from aspectra.app.session import CommonOptions, Session
from aspectra.base.errors import UsageError
from aspectra.llm.budget import Cost, Limits


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
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
    (tmp_path / "aspectra.toml").write_text('[llm]\nmodel = "of-file"\nbase_url = "http://file/v1"\n')
    assert model_settings(session).model == "of-file"
    monkeypatch.setenv("ASPECTRA_LLM_MODEL", "of-environment")
    assert model_settings(Session()).model == "of-environment"
    given = ["llm.model=of-flag", "llm.budget=2calls", "llm.lanes=3", f"llm.journal={tmp_path / 'j.db'}"]
    made = model_settings(Session(CommonOptions(set_=given)))
    assert (made.model, made.base_url, made.lanes) == ("of-flag", "http://file/v1", 3)
    assert made.limits == Limits(calls=2)
    assert made.journal == tmp_path / "j.db"


def test_settings_that_were_read_before_do_not_hide_the_options_of_a_command(session):
    assert session.settings.search.limit == 10
    session.override(search__limit=3, search__evidence=None)
    assert session.settings.search.limit == 3
    assert session.settings.search.evidence == 1


def test_a_journal_in_a_file_is_relative_to_that_file(session, tmp_path):
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
