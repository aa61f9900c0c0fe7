"""The configuration of sinks: each has its own address, secret, filters and pace, and none stops another."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from clew.collect.config import SinkConfig, load_config
from clew.demo.talk import talk
from clew.errors import Refused
from tests.cli.conftest import Run

OTHER = "5e551011-aaaa-4bbb-8ccc-000000000009"


@pytest.fixture
def config(claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATA", "CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    talk().user("Hi").reply("Hello").write(claude)
    return tmp_path / "config" / "clew" / "collect.toml"


class Poisoned:
    """A server that answers 400 to a batch with the word "poison"."""

    def __init__(self) -> None:
        self.is_picky = True
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = gzip.decompress(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(400 if outer.is_picky and b"poison" in body else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Poisoned]:
    made = Poisoned()
    yield made
    made.http.shutdown()
    made.http.server_close()


def write(config: Path, text: str) -> None:
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(text)


def test_a_new_configuration_is_commented_private_and_configures_nothing(clew: Run, config: Path) -> None:
    assert clew("collect", "init")[0] == 0
    assert config.stat().st_mode & 0o077 == 0
    assert load_config().sinks == ()
    code, _, err = clew("collect", "init")
    assert code == 2 and "exists and was not changed" in err
    code, _, err = clew("collect", "test")
    assert code == 2 and "no sink is configured" in err


def test_the_commented_keys_are_valid(clew: Run, config: Path) -> None:
    text = clew("collect", "init", "--dry-run")[1]
    lines = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
    keys = [line for line in lines if not line.startswith(("Where", "# ", "token-env"))]
    write(config, "\n".join(keys))
    found = load_config()
    assert found.identity.developer == "ada@example.com" and found.identity.is_hashed
    assert [(sink.name, sink.send, sink.every) for sink in found.sinks] == [("team", "all", 60.0)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[sink]]\n", "`to` is missing"),
        ("[[sink]]\nto = 'a.jsonl'\ntokenfile = 'x'", "did you mean `token-file`?"),
        ("[[sinks]]\nto = 'a.jsonl'", "did you mean `sink`?"),
        ("[[sink]]\nto = 'a.jsonl'\nreveal = 'yes'", "`reveal` must be true or false"),
        ("[[sink]]\nto = 'a.jsonl'\nevery = -1", "`every` must be a number"),
        ("[[sink]]\nto = 'a.jsonl'\nprojects = [1]", "`projects` must be a list of texts"),
        ("[[sink]]\nto = 'a.jsonl'\nsend = 'some'", "`send` is one of all, lines, facts"),
        ("[[sink]\n", "cannot be read"),
    ],
)
def test_a_mistake_is_named_with_its_place(clew: Run, config: Path, text: str, reason: str) -> None:
    write(config, text)
    code, _, err = clew("collect", "test")
    assert code == 2 and reason in err and "collect.toml" in err


def test_one_secret_is_never_sent_to_two_places(clew: Run, config: Path, tmp_path: Path) -> None:
    (tmp_path / "pw").write_text("secret")
    two = ("--to", "postgresql://ada@db.example/x", "--to", "http://127.0.0.1:9/in")
    code, _, err = clew("collect", *two, "--token-file", str(tmp_path / "pw"))
    assert code == 2 and "would be sent the same secret" in err and "collect init" in err
    write(config, "".join(f"[[sink]]\nto = 'https://{host}/in'\ntoken-env = 'T'\n" for host in ("a", "b")))
    with pytest.raises(Refused, match="same secret"):
        load_config()


def test_a_sink_that_fails_does_not_stop_the_others(clew: Run, config: Path, tmp_path: Path) -> None:
    write(
        config,
        f"""
[[sink]]
name = "broken"
to = "https://127.0.0.1:9/in"
token-file = "{tmp_path}/none"
[[sink]]
to = "http://127.0.0.1:9/in"
[[sink]]
name = "file"
to = "{tmp_path}/out.jsonl"
""",
    )
    code, out, err = clew("collect")
    assert code == 2
    assert len((tmp_path / "out.jsonl").read_bytes().splitlines()) == 2
    assert "cannot be read" in err and "does not answer" in err
    code, out, _ = clew("collect", "status", "--json")
    assert code == 1
    sinks = {sink["sink"]: sink for sink in json.loads(out)["sinks"]}
    assert {name: sink["ok"] for name, sink in sinks.items()} == {
        "http://127.0.0.1:9/in": False,
        "https://127.0.0.1:9/in": False,
        f"file:{tmp_path}/out.jsonl": True,
    }
    delivered = sinks[f"file:{tmp_path}/out.jsonl"]
    assert (delivered["name"], delivered["waiting"], delivered["sent"], delivered["lag_seconds"]) == ("file", 0, 2, 0)
    assert delivered["last_delivery"] == delivered["last_run"] > 0
    failed = sinks["http://127.0.0.1:9/in"]
    assert failed["waiting"] == 2 and failed["failing_since"] and "does not answer" in failed["error"]
    assert "FAILING" in clew("collect", "status")[1]
    text = clew("collect", "status", "--prometheus")[1]
    assert 'clew_sink_up{sink="http://127.0.0.1:9/in"} 0' in text
    assert f'clew_sink_waiting_records{{sink="file:{tmp_path}/out.jsonl"}} 0' in text


def test_a_configured_sink_is_listed_before_it_was_ever_tried(clew: Run, config: Path, tmp_path: Path) -> None:
    assert clew("collect")[0] == 0
    write(config, f"[[sink]]\nto = '{tmp_path}/out.jsonl'")
    code, out, _ = clew("collect", "status")
    assert code == 0 and f"2 records wait for file:{tmp_path}/out.jsonl, not tried yet" in out


def test_each_sink_is_tried_without_sending_a_session(clew: Run, config: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    write(config, f"[[sink]]\nto = '{tmp_path}/out.jsonl'\n[[sink]]\nto = 'parquet:{tmp_path}/file/x'")
    code, out, _ = clew("collect", "test")
    assert code == 2
    assert out.splitlines()[0].startswith(f"ok  {tmp_path}/out.jsonl: ")
    assert out.splitlines()[1].startswith("FAILED  parquet:")
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("allowed", "denied", "project", "is_sent"),
    [
        ((), (), "", True),
        (("shop",), (), "-home-ada-shop", True),
        (("shop",), (), "-home-ada-workshop", False),
        (("shop",), (), "-home-ada-shop-private", False),
        (("/home/ada/*",), (), "-home-ada-shop", True),
        (("/home/ada/*",), ("/home/ada/private",), "-home-ada-private", False),
        ((), ("private",), "-home-ada-private-taxes", False),
        ((), ("private",), "-home-ada-shop", True),
        ((), ("private",), "", False),
    ],
)
def test_projects_are_allowed_and_denied(
    allowed: tuple[str, ...], denied: tuple[str, ...], project: str, is_sent: bool
) -> None:
    assert SinkConfig("a.jsonl", projects=allowed, denied=denied).allows(project) is is_sent


def test_a_denied_project_does_not_leave(clew: Run, claude: Path, config: Path, tmp_path: Path) -> None:
    [folder] = {path.parent.name for path in claude.glob("projects/*/*.jsonl")}
    (claude / "history.jsonl").write_text('{"display":"Hi","timestamp":1,"project":"/x"}\n')
    sink = f"[[sink]]\nto = '{tmp_path}/out.jsonl'\n"
    write(config, f"{sink}except = ['{folder.rpartition('-')[2]}']")
    assert clew("collect")[0] == 0
    assert not (tmp_path / "out.jsonl").exists() or not (tmp_path / "out.jsonl").read_bytes()


def test_numbers_are_sent_without_contents(clew: Run, config: Path, tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    lake = f"delta:{tmp_path}/lake"
    write(config, f"[[sink]]\nto = '{lake}'\nsend = 'facts'\ncontents = false")
    assert clew("collect")[0] == 0
    query = "SELECT t.prompt, s.title, s.turns, r.text FROM turns t JOIN sessions s ON s.session = t.session"
    query += " JOIN replies r ON r.session = s.session"
    row = json.loads(clew("sql", query, "--store", lake, "--json")[1])["row"]
    assert (row["prompt"], row["title"], row["text"], row["turns"]) == ("", "", "", 1)
    write(config, f"[[sink]]\nto = '{lake}'\ncontents = false")
    code, _, err = clew("collect")
    assert code == 2 and "lines are contents" in err


def test_rejected_records_are_shown_masked_and_sent_again(
    clew: Run, claude: Path, config: Path, tmp_path: Path, server: Poisoned
) -> None:
    talk(OTHER).user("the poison and sk-" + "ant-api03-" + "Zq7" * 12).write(claude)
    to = ("--to", f"http://127.0.0.1:{server.port}/in")
    code, _, err = clew("collect", *to)
    assert code == 2 and "cannot take 1 record: see clew collect rejected" in err
    code, out, _ = clew("collect", "rejected", "--json")
    found = json.loads(out)
    assert code == 0 and "400" in found["reason"] and "[REDACTED:anthropic-key" in found["record"]["raw"]
    code, out, err = clew("collect", "rejected")
    assert f"{found['path']}:{found['line']}" in out and "--retry" in err
    assert clew("collect", "status", *to)[0] == 1
    assert clew("collect", "rejected", "--retry", *to)[0] == 2
    server.is_picky = False
    assert clew("collect", "rejected", "--retry", *to)[0] == 0
    assert "0 records were rejected." in clew("collect", "rejected")[2]
    assert clew("collect", "status", *to)[0] == 0
