"""A sink for OpenTelemetry: spans to whatever receives OTLP over HTTP, as protobuf.

`otlp+https://host/…` is an address. `/v1/traces` is added if it is not there, and `?content=yes` asks for what was said as
well: prompts, answers, arguments and results, with their secrets masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, unquote, urlsplit

from clew.collect.sinks.http import HttpPoster
from clew.collect.sinks.otlp.attribute_names import PROJECT, SCHEMA
from clew.collect.sinks.otlp.span_cursor import SentSpan
from clew.collect.sinks.otlp.spans import Span, Value, failed
from clew.collect.sinks.outbox import POISON
from clew.errors import StoreError
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
        hint="Install it: pip install 'clew[otlp]'",
    ) from None

_PATH = "/v1/traces"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class OtlpSink:
    """Takes spans. `headers` are those of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value`, with commas between them."""

    leaves = True

    def __init__(self, address: str, token: str = "", headers: str = "") -> None:
        parts = urlsplit(address.removeprefix("otlp+"))
        path = parts.path if parts.path.rstrip("/").endswith(_PATH) else parts.path.rstrip("/") + _PATH
        where = parts._replace(path=path, query="").geturl()
        self._post = HttpPoster(where, "application/x-protobuf", token, headers=_headers(headers))
        self.name = f"otlp+{self._post.name}"
        self.content = parse_qs(parts.query).get("content") == ["yes"]

    def write(self, batch: Sequence[SentSpan]) -> None:
        answered = self._post.send(request(batch).SerializeToString(deterministic=True))
        try:
            partial = ExportTraceServiceResponse.FromString(answered).partial_success
        except DecodeError:  # some answer 200 with words
            return
        if partial.rejected_spans:
            raise StoreError(f"{self.name} does not take a span: {partial.error_message}.", POISON, False)

    def close(self) -> None:
        self._post.close()


def request(batch: Sequence[SentSpan]) -> ExportTraceServiceRequest:
    """The spans of a batch as one message, those of a project together."""
    by_project: dict[tuple[str, str], list[Span]] = {}
    for sent in batch:
        by_project.setdefault((sent.host, sent.project), []).append(sent.span)
    return ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(
                resource=Resource(
                    attributes=_pairs(
                        {"service.name": "claude-code", "service.instance.id": host, PROJECT: project}.items()
                    )
                ),
                scope_spans=[
                    ScopeSpans(
                        scope=InstrumentationScope(name="clew", version=__version__),
                        spans=[_encoded(span) for span in found],
                        schema_url=SCHEMA,
                    )
                ],
                schema_url=SCHEMA,
            )
            for (host, project), found in by_project.items()
        ]
    )


def _encoded(span: Span) -> Encoded:
    return Encoded(
        trace_id=span.trace,
        span_id=span.id,
        parent_span_id=span.parent,
        name=_text(span.name),
        kind=Encoded.SpanKind.ValueType(span.kind),
        start_time_unix_nano=_nanoseconds(span.start),
        end_time_unix_nano=_nanoseconds(max(span.start, span.end)),
        attributes=_pairs((*span.attributes.items(), *failed(span).items())),
        events=[Encoded.Event(time_unix_nano=_nanoseconds(e.time), name=e.name) for e in span.events],
        status=Status(code=Status.STATUS_CODE_ERROR, message=span.error) if span.error else Status(),
    )


def _pairs(items: Iterable[tuple[str, Value]]) -> list[KeyValue]:
    return [KeyValue(key=name, value=_value(value)) for name, value in items]


def _value(value: Value) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, tuple):
        return AnyValue(array_value=ArrayValue(values=[_value(each) for each in value]))
    return AnyValue(string_value=_text(value))


def _text(value: str) -> str:
    """Protobuf takes no half of a surrogate pair."""
    return value.encode("utf-8", "replace").decode()


def _nanoseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def _headers(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {unquote(name).strip(): unquote(value).strip() for name, _, value in pairs}
