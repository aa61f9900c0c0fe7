"""Endpoints: whose key, which server, what it takes."""

from __future__ import annotations

import pytest

from clew.api.endpoint import Endpoint, endpoint
from clew.errors import ApiError

NAMES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLEW_ALLOW_HTTP", "gateway.example, Other.example")


@pytest.mark.parametrize(
    ("base", "profile", "token"),
    [
        ("https://api.anthropic.com", "anthropic", "t"),
        ("http://localhost:11434", "ollama", "t"),
        ("https://ollama.com", "ollama", "t"),
        ("http://gateway.example:4000", "generic", "t"),
    ],
)
def test_the_profile_follows_the_address(base: str, profile: str, token: str) -> None:
    made = endpoint(base, token=token)
    assert (made.profile.name, made.token) == (profile, token)


def test_a_profile_can_be_named() -> None:
    assert endpoint("http://gateway.example", key="k", profile="vllm").profile.name == "vllm"
    with pytest.raises(ApiError, match="Unknown profile 'x'") as unknown:
        endpoint("http://gateway.example", key="k", profile="x")
    assert "litellm" in unknown.value.hint


def test_the_environment_says_what_was_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in zip(
        NAMES, ("k", "t", "http://gateway.example", "X-A: 1\nX-B: two: three\nnonsense"), strict=True
    ):
        monkeypatch.setenv(name, value)
    made = endpoint()
    assert (made.base, made.key, made.token) == ("http://gateway.example", "k", "t")
    assert made.headers == {"X-A": "1", "X-B": "two: three"}
    other = endpoint("http://other.example", key="mine")
    assert (other.base, other.key, other.token) == ("http://other.example", "mine", "")


def test_without_a_key_there_is_one_sentence_and_a_step() -> None:
    with pytest.raises(ApiError, match=r"No key is set for https://api\.anthropic\.com\.") as refused:
        endpoint()
    assert "ANTHROPIC_API_KEY" in refused.value.hint


def test_a_server_of_ones_own_needs_none() -> None:
    assert endpoint("http://localhost:11434").token == "ollama"
    assert endpoint("http://localhost:8000").head().keys() >= {"user-agent", "anthropic-version"}


@pytest.mark.parametrize("base", ["localhost:11434", "ftp://x", "nonsense", "http://"])
def test_an_address_that_is_none_is_refused(base: str) -> None:
    with pytest.raises(ApiError, match="not the address"):
        endpoint(base, key="k")


@pytest.mark.parametrize(
    "base", ["https://a.example", "https://a.example/", "https://a.example/v1", "https://a.example/v1/"]
)
def test_a_path_is_put_behind_the_base(base: str) -> None:
    assert Endpoint(base).url("/v1/messages") == "https://a.example/v1/messages"


def test_keys_are_not_in_what_is_printed() -> None:
    made = Endpoint(key="sk-secret", token="tok-secret", headers={"Authorization": "hdr-secret"})
    assert "secret" not in repr(made)


CLEAR = [
    "http://api.example",
    "http://10.0.0.5:4000",
    "HTTP://api.example/v1",
    "http://127.0.0.1.example",
    "http://[fe80::1]",
]


@pytest.mark.parametrize("base", CLEAR)
def test_a_key_is_not_sent_in_the_clear(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ({"key": "k"}, {"token": "t"}):
        with pytest.raises(ApiError, match="without encryption") as refused:
            endpoint(base, given.get("key", ""), given.get("token", ""))
        assert "https://" in refused.value.hint and "CLEW_ALLOW_HTTP" in refused.value.hint
        with pytest.raises(ApiError, match="without encryption"):
            Endpoint(base, given.get("key", ""), given.get("token", ""))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with pytest.raises(ApiError, match="without encryption"):
        endpoint(base)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Basic abc")
    with pytest.raises(ApiError, match="without encryption"):
        endpoint(base)


@pytest.mark.parametrize("base", ["http://127.0.0.1:1", "http://127.1.2.3", "http://[::1]:1", "http://LOCALHOST:1"])
def test_a_key_may_be_sent_to_this_machine(base: str) -> None:
    assert endpoint(base, key="k").key == "k"


def test_a_server_in_the_clear_that_needs_no_key_is_asked() -> None:
    assert endpoint("http://10.0.0.5:11434").token == "ollama"


def test_a_host_that_the_user_names_is_sent_its_key_in_the_clear() -> None:
    assert endpoint("http://other.example:80", key="k").key == "k"
    with pytest.raises(ApiError):
        endpoint("http://sub.other.example", key="k")


@pytest.mark.parametrize(
    ("base", "is_loopback"), [("http://127.0.0.1:1", True), ("http://[::1]:1", True), ("http://a.example", False)]
)
def test_loopback_is_known(base: str, is_loopback: bool) -> None:
    assert Endpoint(base).is_loopback is is_loopback
