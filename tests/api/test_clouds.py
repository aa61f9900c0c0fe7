"""Amazon Bedrock and Google Vertex: requests that their servers accept, streams put together, errors understood."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.api.client import Client, Retrying
from clew.api.cloud_models import bedrock_model, vertex_model
from clew.api.endpoint import endpoint
from clew.api.reasoning import Reasoning, reasoning_fields
from clew.api.request_body import MessagesRequest
from clew.api.stream_assembly import ReplyFinished
from clew.errors import ApiError
from tests.api.cloud_servers import (
    ACCESS,
    REGION,
    SECRET,
    SESSION,
    TOKEN,
    CloudServer,
    Failing,
    cloud_server,
    service_account,
)

KEYS = {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": SESSION}
Setenv = Callable[..., None]


@pytest.fixture
def setenv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Setenv:
    """Sets variables in an environment without any of these platforms."""
    for name in [n for n in os.environ if n.startswith(("AWS_", "ANTHROPIC_", "CLAUDE", "GOOGLE_", "CLOUD_"))]:
        monkeypatch.delenv(name)
    none = {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true"}

    def set_all(**variables: str) -> None:
        for name, value in {**none, **variables}.items():
            monkeypatch.setenv(name, value)

    return set_all


def bedrock(made: CloudServer, **more: str) -> dict[str, str]:
    base = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": REGION, "ANTHROPIC_BEDROCK_BASE_URL": made.url}
    return {**base, **KEYS, **more}


def vertex(made: CloudServer, folder: Path, **more: str) -> dict[str, str]:
    base = {
        "CLAUDE_CODE_USE_VERTEX": "1",
        "CLOUD_ML_REGION": "europe-west1",
        "ANTHROPIC_VERTEX_BASE_URL": f"{made.url}/v1",
    }
    return {**base, "GOOGLE_APPLICATION_CREDENTIALS": str(service_account(folder, made)), **more}


def ask(model: str = "claude-opus-5-5", times: int = 1, **more: Any) -> tuple[str, list[str]]:
    """The text of the last reply, and why tries were repeated."""
    fields = reasoning_fields(model, 5000, Reasoning())
    request = MessagesRequest(
        model=model,
        messages=[{"role": "user", "content": "hi"}],
        max_tokens=5000,
        thinking=fields.thinking,
        capabilities=fields.capabilities,
    )

    async def run() -> tuple[str, list[str]]:
        said, repeated = "", []

        async def sleep(seconds: float) -> None:
            """Do not wait."""

        async with Client(endpoint(), sleep=sleep) as client:
            for _ in range(times):
                async with client.stream(request, **more) as stream:
                    async for event in stream:
                        if isinstance(event, Retrying):
                            repeated.append(event.error.kind)
                        elif isinstance(event, ReplyFinished):
                            said = event.reply.text
        return said, repeated

    return asyncio.run(run())


def test_bedrock_takes_signed_requests_and_its_stream_is_read(setenv: Setenv) -> None:
    with cloud_server("bedrock") as made:
        setenv(**bedrock(made))
        assert ask() == ("Hello from the cloud.", [])
    (asked,) = made.asked
    assert asked["path"] == "/model/eu.anthropic.claude-opus-5-5/invoke-with-response-stream"
    body = asked["body"]
    assert not {"model", "stream", "context_management"} & {*body}
    assert body["anthropic_version"] == "bedrock-2023-05-31"
    assert body["anthropic_beta"] == ["interleaved-thinking-2025-05-14"]
    assert body["output_config"] == {"effort": "medium"} and asked["headers"]["anthropic-beta"] == "effort-2025-11-24"
    assert body["thinking"] == {"type": "adaptive", "display": "omitted"}


def test_an_id_with_a_colon_is_signed_as_it_is_sent(setenv: Setenv) -> None:
    with cloud_server("bedrock") as made:
        setenv(**bedrock(made))
        assert ask("claude-sonnet-4-5")[0]
    name = "eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0"
    assert made.asked[0]["path"] == f"/model/{name}/invoke-with-response-stream"
    assert made.asked[0]["body"]["thinking"] == {"type": "enabled", "budget_tokens": 4999}


def test_a_key_of_bedrock_replaces_the_signature(setenv: Setenv) -> None:
    with cloud_server("bedrock") as made:
        setenv(**bedrock(made, AWS_BEARER_TOKEN_BEDROCK=TOKEN, AWS_SECRET_ACCESS_KEY="another"))
        assert ask()[0] == "Hello from the cloud."
    assert made.asked[0]["headers"]["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("changed", "failing", "kind", "hint"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrong"}, None, "authentication_error", "get-caller-identity"),
        ({"AWS_ACCESS_KEY_ID": "AKIDOTHER"}, None, "authentication_error", "get-caller-identity"),
        ({"AWS_SESSION_TOKEN": "old"}, None, "authentication_error", "aws sso login"),
        ({}, Failing(403, "AccessDeniedException"), "permission_error", "region"),
        ({}, Failing(400, "ValidationException", "The provided model identifier is invalid."), "invalid", "--model"),
        ({}, Failing(400, "ValidationException", "Input is too long for requested model."), "too_long", "Shorten"),
        ({}, Failing(404, "ResourceNotFoundException"), "not_found_error", "region"),
    ],
)
def test_errors_of_bedrock_say_what_to_do(
    setenv: Setenv, changed: dict[str, str], failing: Failing | None, kind: str, hint: str
) -> None:
    with cloud_server("bedrock", *[failing] * bool(failing)) as made:
        setenv(**bedrock(made, **changed))
        with pytest.raises(ApiError) as caught:
            ask()
    assert caught.value.kind.startswith(kind) and hint in caught.value.hint and len(made.asked) == 1
    assert not failing or str(caught.value) == failing.message


@pytest.mark.parametrize(
    ("failing", "kind"),
    [
        (Failing(429, "ThrottlingException"), "rate_limit_error"),
        (Failing(503, "ServiceUnavailableException"), "overloaded_error"),
        (Failing(0, "throttlingException"), "rate_limit_error"),
        (Failing(0, "modelStreamErrorException"), "api_error"),
    ],
)
def test_bedrock_is_asked_again_when_it_was_busy(setenv: Setenv, failing: Failing, kind: str) -> None:
    with cloud_server("bedrock", failing) as made:
        setenv(**bedrock(made))
        assert ask() == ("Hello from the cloud.", [kind])
    assert made.asked[1]["path"].endswith("/invoke" if not failing.status else "-stream")


def test_a_damaged_stream_is_asked_for_again(setenv: Setenv) -> None:
    with cloud_server("bedrock") as made:
        made.is_damaged = True
        setenv(**bedrock(made))
        assert ask(resend="end") == ("Hello from the cloud.", ["protocol"])


def test_without_credentials_the_variables_are_named(setenv: Setenv) -> None:
    with cloud_server("bedrock") as made:
        setenv(**{**bedrock(made), "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": ""})
        with pytest.raises(ApiError) as caught:
            ask()
    assert "no AWS credentials" in str(caught.value) and "AWS_PROFILE" in caught.value.hint and not made.asked


def test_vertex_takes_the_token_of_a_service_account(setenv: Setenv, tmp_path: Path) -> None:
    with cloud_server("vertex") as made:
        setenv(**vertex(made, tmp_path))
        assert ask(times=2) == ("Hello from the cloud.", [])
    first = made.asked[0]
    place = "/v1/projects/proj-1/locations/europe-west1/publishers/anthropic/models"
    assert first["path"] == f"{place}/claude-opus-5-5:streamRawPredict"
    assert first["body"]["anthropic_version"] == "vertex-2023-10-16" and first["body"]["stream"] is True
    assert not {"model", "context_management"} & {*first["body"]}
    assert first["headers"]["anthropic-beta"] == "interleaved-thinking-2025-05-14,effort-2025-11-24"
    assert made.tokens == 1


def test_an_expired_token_of_google_is_renewed(setenv: Setenv, tmp_path: Path) -> None:
    with cloud_server("vertex") as made:
        made.lifetime = 0
        setenv(**vertex(made, tmp_path))
        assert ask(times=3)[0] == "Hello from the cloud."
    assert made.tokens == 3


@pytest.mark.parametrize(
    ("failing", "kind", "hint"),
    [
        (Failing(401, "UNAUTHENTICATED"), "authentication_error", "gcloud auth"),
        (
            Failing(403, "PERMISSION_DENIED", "Permission denied on resource project proj-1."),
            "permission",
            "PROJECT_ID",
        ),
        (Failing(404, "NOT_FOUND", "Publisher Model was not found."), "not_found_error", "CLOUD_ML_REGION"),
        (Failing(400, "FAILED_PRECONDITION", "The model is not servable."), "invalid_request_error", ""),
    ],
)
def test_errors_of_vertex_say_what_to_do(
    setenv: Setenv, tmp_path: Path, failing: Failing, kind: str, hint: str
) -> None:
    with cloud_server("vertex", failing) as made:
        setenv(**vertex(made, tmp_path))
        with pytest.raises(ApiError) as caught:
            ask()
    assert caught.value.kind.startswith(kind) and hint in caught.value.hint and str(caught.value) == failing.message


def test_vertex_is_asked_again_when_the_quota_is_used_up(setenv: Setenv, tmp_path: Path) -> None:
    with cloud_server("vertex", Failing(429, "RESOURCE_EXHAUSTED", "Quota exceeded.")) as made:
        setenv(**vertex(made, tmp_path))
        assert ask() == ("Hello from the cloud.", ["rate_limit_error"])


@pytest.mark.parametrize(
    ("variables", "said", "hint"),
    [
        ({}, "no Google credentials", "gcloud auth"),
        ({"CLAUDE_CODE_SKIP_VERTEX_AUTH": "1"}, "No Google Cloud project", "ANTHROPIC_VERTEX_PROJECT_ID"),
    ],
)
def test_vertex_names_what_is_not_set(setenv: Setenv, variables: dict[str, str], said: str, hint: str) -> None:
    setenv(CLAUDE_CODE_USE_VERTEX="1", **variables)
    with pytest.raises(ApiError) as caught:
        endpoint()
    assert said in str(caught.value) and hint in caught.value.hint


@pytest.mark.parametrize(("name", "package"), [("BEDROCK", "botocore"), ("VERTEX", "google")])
def test_a_missing_library_names_its_extra(
    setenv: Setenv, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    setenv(**{f"CLAUDE_CODE_USE_{name}": "1"})
    for module in [m for m in sys.modules if m.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ApiError) as caught:
        endpoint()
    assert f"[{name.lower()}]" in caught.value.hint


def test_a_session_token_is_not_sent_unencrypted(setenv: Setenv) -> None:
    setenv(CLAUDE_CODE_USE_BEDROCK="1", ANTHROPIC_BEDROCK_BASE_URL="http://bedrock.example", **KEYS)
    with pytest.raises(ApiError, match="without encryption"):
        endpoint()


def test_models_have_the_names_of_the_platform() -> None:
    assert bedrock_model("claude-opus-5-5", "us-west-2") == "us.anthropic.claude-opus-5-5"
    assert bedrock_model("claude-opus-4-6[1m]", "ap-south-1") == "apac.anthropic.claude-opus-4-6-v1"
    assert bedrock_model("claude-sonnet-4-5-20250929", "eu-west-1").endswith("claude-sonnet-4-5-20250929-v1:0")
    for own in ("global.anthropic.claude-opus-5-5", "arn:aws:bedrock:us-east-1:1:inference-profile/x", "other.model"):
        assert bedrock_model(own, "us-east-1") == own
    assert vertex_model("claude-haiku-4-5-20251001") == "claude-haiku-4-5@20251001"
    assert vertex_model("claude-opus-5-5") == "claude-opus-5-5" and vertex_model("x@1") == "x@1"


def test_a_chat_on_bedrock(tmp_path: Path) -> None:
    with cloud_server("bedrock") as made:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "CLAUDE", "AWS_"))
        }
        env = {**kept, **bedrock(made), "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
        command = [sys.executable, "-m", "clew", "chat", "-p", "hi", "--model", "opus", "--output-format", "json"]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"] == "Hello from the cloud."
