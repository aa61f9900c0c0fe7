"""Send spans to an OTLP receiver over HTTP, as protobuf.

An address is `otlp+https://host/…`. `/v1/traces` is appended unless present, and `?content=yes` also sends content:
prompts, replies, arguments and results, with their secrets masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, unquote, urlsplit

from clew.collect.sinks.http import HttpPoster
from clew.collect.sinks.otlp.attribute_names import PROJECT, SCHEMA
from clew.collect.sinks.otlp.span_cursor import SentSpan
from clew.collect.sinks.otlp.spans import Span, Value, error_attributes
from clew.collect.sinks.outbox import POISON
from clew.errors import StoreError
from clew.system.extras import install_hint
from clew.version import __version__

try:
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Status
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as Encoded
except ImportError:
    raise StoreError(
        "opentelemetry-proto is needed for this and not installed.",
        "extra",
        False,
        hint=install_hint("stores"),
    ) from None

_PATH = "/v1/traces"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class OtlpSink:
    """Accepts spans. `headers` is the value of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value`, separated by commas."""

    leaves = True

    def __init__(self, address: str, token: str = "", headers: str = "") -> None:
        parts = urlsplit(address.removeprefix("otlp+"))
        path = parts.path if parts.path.rstrip("/").endswith(_PATH) else parts.path.rstrip("/") + _PATH
        endpoint = parts._replace(path=path, query="").geturl()
        self._post = HttpPoster(endpoint, "application/x-protobuf", token, headers=parse_headers(headers))
        self.name = f"otlp+{self._post.name}"
        self.content = parse_qs(parts.query).get("content") == ["yes"]

    def write(self, batch: Sequence[SentSpan]) -> None:
        response = self._post.send(build_request(batch).SerializeToString(deterministic=True))
        try:
            partial = ExportTraceServiceResponse.FromString(response).partial_success
        except DecodeError:  # some receivers answer 200 with plain text
            return
        if partial.rejected_spans:
            raise StoreError(f"{self.name} rejected a span: {partial.error_message}.", POISON, False)

    def close(self) -> None:
        self._post.close()


def build_request(batch: Sequence[SentSpan]) -> ExportTraceServiceRequest:
    """Build one message from the spans of a batch, grouped by project."""
    by_project: dict[tuple[str, str], list[Span]] = {}
    for sent in batch:
        by_project.setdefault((sent.host, sent.project), []).append(sent.span)
    return ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(
                resource=Resource(
                    attributes=encode_attributes(
                        {"service.name": "claude-code", "service.instance.id": host, PROJECT: project}.items()
                    )
                ),
                scope_spans=[
                    ScopeSpans(
                        scope=InstrumentationScope(name="clew", version=__version__),
                        spans=[_encode_span(span) for span in project_spans],
                        schema_url=SCHEMA,
                    )
                ],
                schema_url=SCHEMA,
            )
            for (host, project), project_spans in by_project.items()
        ]
    )


def _encode_span(span: Span) -> Encoded:
    return Encoded(
        trace_id=span.trace,
        span_id=span.id,
        parent_span_id=span.parent,
        name=_valid_text(span.name),
        kind=Encoded.SpanKind.ValueType(span.kind),
        start_time_unix_nano=_nanoseconds(span.start),
        end_time_unix_nano=_nanoseconds(max(span.start, span.end)),
        attributes=encode_attributes((*span.attributes.items(), *error_attributes(span).items())),
        events=[Encoded.Event(time_unix_nano=_nanoseconds(e.time), name=e.name) for e in span.events],
        status=Status(code=Status.STATUS_CODE_ERROR, message=span.error) if span.error else Status(),
    )


def encode_attributes(items: Iterable[tuple[str, Value]]) -> list[KeyValue]:
    return [KeyValue(key=name, value=_encode_value(value)) for name, value in items]


def _encode_value(value: Value) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, tuple):
        return AnyValue(array_value=ArrayValue(values=[_encode_value(item) for item in value]))
    return AnyValue(string_value=_valid_text(value))


def _valid_text(value: str) -> str:
    """Replace unpaired surrogates, which protobuf rejects."""
    return value.encode("utf-8", "replace").decode()


def _nanoseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def parse_headers(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {unquote(name).strip(): unquote(value).strip() for name, _, value in pairs}
