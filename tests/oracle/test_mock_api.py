"""The mock API, without the CLI."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from tests.oracle.mock_api import Json, MockApi, Reply, text, thinking, tool_use

CONTENT = [thinking("Hm."), text("Grüße 🧵"), tool_use("Read", file_path="/a"), text("")]


def post(url: str, body: Json) -> str:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=10) as answer:
        said: str = answer.read().decode()
    return said


def built(stream: str) -> Json:
    """The message that a stream adds up to."""
    events = [json.loads(line[len("data: ") :]) for line in stream.splitlines() if line.startswith("data: ")]
    message: Json = events[0]["message"]
    pieces: dict[int, str] = {}
    for event in events:
        if event["type"] == "content_block_start":
            message["content"].append(event["content_block"])
        elif event["type"] == "content_block_delta":
            block, delta = message["content"][event["index"]], dict(event["delta"])
            kind = delta.pop("type")
            if kind == "input_json_delta":
                pieces[event["index"]] = pieces.get(event["index"], "") + delta["partial_json"]
                block["input"] = {}
            else:
                for key, part in delta.items():
                    block[key] += part
        elif event["type"] == "message_delta":
            message |= event["delta"] | {"usage": event["usage"]}
    for index, whole in pieces.items():
        message["content"][index]["input"] = json.loads(whole)
    assert events[-1] == {"type": "message_stop"}
    return message


def test_a_stream_adds_up_to_the_whole_message() -> None:
    said = []
    for stream in (True, False):
        with MockApi([Reply(CONTENT)]) as api:
            said.append(post(f"{api.url}/v1/messages?beta=true", {"model": "m", "stream": stream}))
    assert built(said[0]) == json.loads(said[1])


def test_replies_are_used_in_order_and_then_it_is_ok() -> None:
    with MockApi([Reply([text("a")]), Reply([tool_use("B")], usage={"output_tokens": 7})]) as api:
        first, second, third = (json.loads(post(f"{api.url}/v1/messages", {"n": n})) for n in range(3))
        assert api.requests == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert [m["content"][0].get("text") for m in (first, second, third)] == ["a", None, "ok"]
    assert [m["stop_reason"] for m in (first, second, third)] == ["end_turn", "tool_use", "end_turn"]
    assert second["usage"] == {"output_tokens": 7}
    assert len({m["id"] for m in (first, second, third)}) == 3


def test_side_requests_use_up_no_reply() -> None:
    with MockApi([Reply([text("main")])], scripted=lambda body: "tools" in body) as api:
        side = json.loads(post(f"{api.url}/v1/messages", {}))
        main = json.loads(post(f"{api.url}/v1/messages", {"tools": []}))
    assert side["content"] == [text("ok")]
    assert main["content"] == [text("main")]
    assert side["id"] != main["id"]


def test_other_paths() -> None:
    with MockApi() as api:
        assert json.loads(post(f"{api.url}/v1/messages/count_tokens", {"a": 1}))["input_tokens"] > 0
        with pytest.raises(urllib.error.HTTPError) as refused:
            post(f"{api.url}/v2/other", {})
        refused.value.close()
        assert refused.value.code == 404
        assert [seen.path for seen in api.received] == ["/v1/messages/count_tokens", "/v2/other"]
        assert api.requests == []
