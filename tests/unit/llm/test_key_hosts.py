"""The key of one provider goes to that provider."""

from __future__ import annotations

import pytest

from aspectra.base.trust import key_variable


@pytest.mark.parametrize("host", ["evil.example", "https://evil.example", "api.openai.com.evil.example", ""])
def test_a_key_meant_for_one_provider_goes_to_nobody_else(host, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-made-up-for-a-test")
    for name in ("ASPECTRA_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert key_variable(host) == ""
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example/v1")
    assert key_variable(host) == ""
