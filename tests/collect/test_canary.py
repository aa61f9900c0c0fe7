"""Canaries: secrets of many kinds in many disguises are collected, and then every byte that was made is searched for them.

The archive and its journal, each sink and what it says when it refuses, what is printed: nothing of a canary is there.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import apsw
import pytest
from stringzilla import contains

from benchmarks.plant import Planted, plant
from clew.cli import main
from clew.collect.archive import packing
from tests.collect.collect_fixture import session
from tests.collect.postgres import PASSWORD, Store

WITHOUT_RULE = ("airtable", "brevo", "prefect", "pulumi", "readme", "shippo")
READS_AS_WORDS = ("password in yaml",)  # one in some sixty has letters alone, and stays
CANARIES = [one for one in plant(7) if one.kind not in (*WITHOUT_RULE, *READS_AS_WORDS)]
PLAIN = {one.kind: one for one in CANARIES if one.disguise == "plain"}


def pieces(one: Planted) -> set[bytes]:
    """Some of the canary's characters in a row: of its first line, from its middle, and of its last."""
    lines = one.letters.replace("\\n", "\n").split("\n")
    found = [lines[0][:10], lines[0][len(lines[0]) // 2 - 5 :][:10], lines[-1][-10:]]
    return {piece.encode() for piece in found}


PIECES = set().union(*map(pieces, CANARIES))


def leaks(data: bytes) -> list[bytes]:
    return [piece for piece in PIECES if contains(data, piece)]


def entries() -> Iterator[bytes]:
    """A session of nothing but canaries: in prompts and results, in replies and calls, and where one works."""
    stamp = b'"timestamp":"2026-01-05T10:00:00.000Z","version":"2.1.0"'
    for number, one in enumerate(CANARIES):
        yield one.line.replace(b"{", b'{"uuid":"%08d-0000-4000-8000-000000000001",%s,' % (number, stamp), 1)
    for number, one in enumerate(PLAIN.values()):
        text = json.loads(one.line)["message"]["content"][0]["content"]
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": f"echo {text}"}}
        content = [{"type": "text", "text": text}, call]
        message = {"id": f"msg_{number}", "role": "assistant", "model": "claude-opus-4-5", "content": content}
        usage = {"input_tokens": 5, "output_tokens": 7}
        reply = {"type": "assistant", "sessionId": "x", "cwd": f"/home/ann/{text}", "gitBranch": text}
        reply |= {"uuid": f"{number:08d}-0000-4000-8000-000000000002", "timestamp": "2026-01-05T10:00:01.000Z"}
        yield json.dumps({**reply, "message": {**message, "usage": usage}}).encode()
    yield b'{"broken ' + CANARIES[0].line


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """A folder of Claude Code with canaries in all that is collected."""
    root = tmp_path / "claude"
    text = "\n".join(json.loads(one.line)["message"]["content"][0]["content"] for one in PLAIN.values())
    files = {
        session(1): b"\n".join(entries()) + b'\n{"unfinished ' + CANARIES[0].line,
        f"{session(1).removesuffix('.jsonl')}/tool-results/toolu_1.txt": text.encode(),
        "history.jsonl": json.dumps({"display": text, "pastedContents": {"1": {"content": text}}}).encode() + b"\n",
        "todos/a-agent-a.json": json.dumps([{"content": text}]).encode(),
        "file-history/a/b@v1": b"\xff\xfe" + text.encode(),
    }
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert len({one.kind for one in CANARIES}) >= 15 and len({one.disguise for one in CANARIES}) >= 5
    assert all(leaks(data) for data in files.values())
    return root


class Server:
    """Keeps what it is sent, answers with a code, and repeats in its answer what it was sent."""

    def __init__(self) -> None:
        self.code = 200
        self.taken: list[bytes] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = gzip.decompress(self.rfile.read(int(self.headers["Content-Length"])))
                outer.taken += [body, str(self.headers).encode(), self.path.encode()]
                echo = b"" if outer.code == 200 else body
                self.send_response(outer.code)
                self.send_header("Content-Length", str(len(echo)))
                self.end_headers()
                self.wfile.write(echo)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.place = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


Collect = Callable[..., bytes]


@pytest.fixture
def collect(claude: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Collect:
    """`clew collect`, and what it printed."""

    def run(*options: str, code: int = 0) -> bytes:
        archive = str(tmp_path / "archive" / "archive.db")
        assert main(["collect", "--claude-dir", str(claude), "--archive", archive, *options]) == code
        said = capfd.readouterr()
        return f"{said.out}{said.err}".encode()

    return run


def under(folder: Path) -> bytes:
    """Every byte of every file below a folder, and its name."""
    return b"\n".join(str(path).encode() + path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.req("R326")
def test_no_byte_of_a_canary_is_in_the_archive_or_beside_it(collect: Collect, tmp_path: Path) -> None:
    said = collect("--redact") + collect("--redact", "--scrub") + collect("--json", "--redact") + collect("status")
    connection = apsw.Connection(str(tmp_path / "archive" / "archive.db"))  # keeps the journal from being removed
    rows = [row for name in tables(connection) for row in connection.execute(f'SELECT * FROM "{name}"')]
    held = [value for row in rows for value in row if isinstance(value, bytes | str)]
    unpacked = [unpack(value) if isinstance(value, bytes) else value.encode() for value in held]
    assert sum(value.count(b"[REDACTED:") for value in unpacked) >= len(CANARIES)
    assert leaks(b"\n".join(unpacked)) == []
    assert leaks(under(tmp_path / "archive")) == []
    assert leaks(said) == []


def tables(connection: apsw.Connection) -> list[str]:
    return [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]


def unpack(data: bytes) -> bytes:
    """Unpack what is stored, if it is packed in one of the ways of the archive."""
    found = (packing.unpack(way, data, 1 << 24) for way in (packing.DEFLATED, packing.ZSTD))
    return next((raw for raw in found if raw is not None), data)


@pytest.mark.req("R326")
def test_no_byte_of_a_canary_is_in_a_file(collect: Collect, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    said = collect("--to", str(tmp_path / "out" / "records.jsonl"))
    held = under(tmp_path / "out")
    assert held.count(b"[REDACTED:") >= len(CANARIES)
    assert leaks(held + said) == []


@pytest.mark.req("R326")
@pytest.mark.parametrize("address", ["http://{}/in", "otlp+http://{}/?content=yes"])
def test_no_byte_of_a_canary_is_sent(collect: Collect, server: Server, address: str) -> None:
    said = collect("--to", address.format(server.place))
    held = b"\n".join(server.taken)
    assert held.count(b"[REDACTED:") >= len(PLAIN)
    assert leaks(held + said) == []


@pytest.mark.parametrize("code", [400, 401, 500])
def test_no_byte_of_a_canary_is_in_an_error(collect: Collect, server: Server, tmp_path: Path, code: int) -> None:
    server.code = code
    said = collect("--redact", "--to", f"http://{server.place}/in", code=2)
    assert said
    assert leaks(said + b"\n".join(server.taken) + under(tmp_path / "archive")) == []


@pytest.mark.req("R326")
def test_no_byte_of_a_canary_is_in_a_lake(collect: Collect, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    said = collect("--to", f"delta:{tmp_path / 'lake'}") + collect("--to", f"parquet:{tmp_path / 'parquet'}")
    files = [*(tmp_path / "lake").rglob("*.parquet"), *(tmp_path / "parquet").rglob("*.parquet")]
    rows = [row for path in files for row in duckdb.sql(f"SELECT * FROM read_parquet('{path}')").fetchall()]
    held = repr(rows).encode() + b"\n".join(value for row in rows for value in row if isinstance(value, bytes))
    assert held.count(b"[REDACTED:") >= 2 * len(CANARIES)
    assert leaks(held + under(tmp_path / "lake") + under(tmp_path / "parquet") + said) == []


@pytest.mark.req("R326")
def test_no_byte_of_a_canary_is_in_a_server(collect: Collect, store: Store, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    password.chmod(0o600)
    said = collect("--to", store.address("ada"), "--token-file", str(password))
    names = store.ask(
        "SELECT relname FROM pg_class WHERE relnamespace = 'clew'::regnamespace AND relkind IN ('r', 'p')"
    )
    rows = [row for (name,) in names for row in store.ask(f"SELECT * FROM clew.{name}")]
    held = repr(rows).encode() + b"\n".join(bytes(v) for row in rows for v in row if isinstance(v, bytes | memoryview))
    assert held.count(b"[REDACTED:") >= len(CANARIES)
    store.ask("CHECKPOINT")
    [(number,)] = store.ask("SELECT oid FROM pg_database WHERE datname = current_database()")
    data = store.cluster.data
    files = [store.cluster.folder / "log", *data.glob(f"base/{number}/[0-9]*"), *data.glob("pg_wal/0*")]
    assert leaks(held + said + b"\n".join(path.read_bytes() for path in files)) == []
