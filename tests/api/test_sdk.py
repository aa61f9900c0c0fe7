"""The official Python client of the API as a judge of the mock: what it takes from the real API it takes from ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from clew.api.mock.scripts import Fault, MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import MockServer, running
from tests.api.helper import TOOLS, Json

STATUSES = (400, 401, 403, 404, 413, 429, 500, 529)
TOOL: list[Any] = [{"thinking": "Hm. 🧵"}, "Look:", {"tool": "Bash", "input": {"command": "ls"}}]
SCRIPT = MockScript(
    rules=[
        ScriptRule(prompt="tool", steps=[TOOL, "Done."]),
        *(
            ScriptRule(prompt=f"status {n}", steps=[ScriptStep(fault=Fault(status=n, should_retry=False))])
            for n in STATUSES
        ),
        ScriptRule(
            prompt="shaky", steps=[ScriptStep(content="Steady.", fault=Fault(status=529, times=1, retry_after=0.01))]
        ),
        ScriptRule(prompt="break", steps=[ScriptStep(fault=Fault(stream="error", after=4))]),
    ],
    otherwise=["{{prompt}}"],
)


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with running(SCRIPT) as made:
        yield made


@pytest.fixture
def client(server: MockServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="sk-ant-test") as made:
        yield made


def asked(prompt: str, *more: Any, **fields: Any) -> Json:
    return {
        "model": "claude-mock",
        "max_tokens": 2048,
        "messages": [{"role": "user", "content": prompt}, *more],
        **fields,
    }


def test_a_message_is_taken(client: anthropic.Anthropic) -> None:
    message = client.messages.create(**asked("Grüße 🧵"))
    assert message.content[0].type == "text" and message.content[0].text == "Grüße 🧵"
    assert (message.stop_reason, message.role) == ("end_turn", "assistant")
    assert message.usage.input_tokens > 0 and message.usage.output_tokens > 0


def test_a_stream_adds_up_to_the_message(client: anthropic.Anthropic) -> None:
    fields = asked("use a tool", tools=TOOLS, thinking={"type": "enabled", "budget_tokens": 1024})
    with client.messages.stream(**fields) as stream:
        texts = "".join(stream.text_stream)
        streamed = stream.get_final_message()
    whole = client.messages.create(**fields)
    assert texts == "Look:"
    assert streamed.to_dict() == whole.to_dict() | {"stop_details": None}  # which the client adds by itself
    assert [block.type for block in whole.content] == ["thinking", "text", "tool_use"]


def test_what_it_got_it_can_send_back(client: anthropic.Anthropic) -> None:
    fields = asked("use a tool", tools=TOOLS)
    first = client.messages.create(**fields)
    call = next(block for block in first.content if block.type == "tool_use")
    content = [block.to_dict() for block in first.content]
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "a.txt"}]}
    second = client.messages.create(
        **asked("use a tool", {"role": "assistant", "content": content}, answer, tools=TOOLS)
    )
    assert second.content[0].type == "text" and second.content[0].text == "Done."


def test_tokens_are_counted(client: anthropic.Anthropic) -> None:
    counted = client.messages.count_tokens(model="claude-mock", messages=[{"role": "user", "content": "word " * 100}])
    assert counted.input_tokens == 129


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (403, anthropic.PermissionDeniedError),
        (404, anthropic.NotFoundError),
        (413, anthropic.APIStatusError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.APIStatusError),
    ],
)
def test_failures_have_their_class(
    client: anthropic.Anthropic, status: int, kind: type[anthropic.APIStatusError]
) -> None:
    with pytest.raises(kind) as failed:
        client.messages.create(**asked(f"status {status}"))
    assert failed.value.status_code == status
    assert isinstance(failed.value.body, dict) and failed.value.body["type"] == "error"


def test_a_request_that_breaks_a_rule_is_a_bad_request(client: anthropic.Anthropic) -> None:
    orphan: Json = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_x", "content": "x"}]}
    with pytest.raises(anthropic.BadRequestError, match="toolu_x"):
        client.messages.create(model="claude-mock", max_tokens=9, messages=[orphan])  # type: ignore[list-item]


def test_a_passing_failure_is_asked_again(client: anthropic.Anthropic) -> None:
    assert client.messages.create(**asked("shaky")).content[0].to_dict()["text"] == "Steady."


def test_an_error_inside_a_stream_is_raised(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.APIStatusError) as failed, client.messages.stream(**asked("break")) as stream:
        stream.get_final_message()
    assert isinstance(failed.value.body, dict) and failed.value.body["error"]["type"] == "overloaded_error"


def test_models_are_listed(client: anthropic.Anthropic) -> None:
    assert [model.id for model in client.models.list()] == ["claude-mock"]
