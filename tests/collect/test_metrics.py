"""The numbers of `clew collect status` as OpenTelemetry metrics, received by a server that decodes the protobuf."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from clew.cli import main
from clew.demo.demo_tree import write_demo


class MetricsReceiver:
    def __init__(self) -> None:
        self.requests: list[tuple[str, str, ExportMetricsServiceRequest]] = []
        self.answer = b""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = gzip.decompress(self.rfile.read(int(self.headers["Content-Length"])))
                request = ExportMetricsServiceRequest.FromString(data)
                outer.requests.append((self.path, self.headers.get("Authorization", ""), request))
                self.send_response(200)
                self.send_header("Content-Length", str(len(outer.answer)))
                self.end_headers()
                self.wfile.write(outer.answer)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"otlp+http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[MetricsReceiver]:
    made = MetricsReceiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write_demo(tmp_path / "tree", datetime(2026, 6, 1, tzinfo=UTC))
    given = ["--archive", str(tmp_path / "a.db"), "--claude-dir", str(tmp_path / "tree")]
    assert main(["collect", "--quiet", *given, "--to", str(tmp_path / "out.jsonl")]) == 0
    return given


def test_the_state_is_pushed_as_gauges(
    receiver: MetricsReceiver, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    pushed = ["--otlp", f"{receiver.address}/otel", "--token-file", str(tmp_path / "token")]
    assert main(["collect", "status", *options, *pushed]) == 0
    assert "Last run: just now" in capsys.readouterr().out
    [(path, authorization, request)] = receiver.requests
    assert (path, authorization) == ("/otel/v1/metrics", "Bearer t0ken")
    [resource] = request.resource_metrics
    [scope] = resource.scope_metrics
    values = {
        (metric.name, *(pair.value.string_value for pair in point.attributes)): point.as_int
        for metric in scope.metrics
        for point in metric.gauge.data_points
    }
    sink = f"file:{tmp_path}/out.jsonl"
    assert values["clew_sink_up", sink] == 1 and values["clew_sink_waiting_records", sink] == 0
    assert values["clew_archive_sessions",] > 0 and values["clew_last_run_timestamp_seconds",] > 1_700_000_000


def test_a_receiver_that_rejects_is_an_error(
    receiver: MetricsReceiver, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    rejected = ExportMetricsPartialSuccess(rejected_data_points=3, error_message="too old")
    receiver.answer = ExportMetricsServiceResponse(partial_success=rejected).SerializeToString()
    assert main(["collect", "status", *options, "--otlp", receiver.address]) == 2
    assert "rejected 3 values: too old" in capsys.readouterr().err
    assert main(["collect", "status", *options, "--otlp", "https://example.com"]) == 2
    assert "otlp+https://" in capsys.readouterr().err


def test_a_run_is_noted_without_a_sink(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.health.json").unlink()
    assert main(["collect", "--quiet", *options]) == 0
    assert main(["collect", "status", *options, "--prometheus"]) == 0
    [row] = [row for row in capsys.readouterr().out.splitlines() if row.startswith("clew_last_run_timestamp_seconds ")]
    assert int(row.split()[1]) > 1_700_000_000
