"""Send the state of the archive and of its sinks as OpenTelemetry metrics over HTTP, as protobuf.

The names are those of the text for Prometheus (`sink_health`), and every value is a gauge.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from clew.collect.sink_health import Measurement
from clew.collect.sinks.http import HttpPoster
from clew.collect.sinks.otlp.exporter import encode_attributes, parse_headers
from clew.errors import StoreError
from clew.system.extras import install_hint
from clew.version import __version__

try:
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
        ExportMetricsServiceResponse,
    )
    from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
    from opentelemetry.proto.metrics.v1.metrics_pb2 import Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
except ImportError:
    raise StoreError(
        "opentelemetry-proto is needed for this and not installed.", "extra", False, hint=install_hint("stores")
    ) from None

_PATH = "/v1/metrics"


def push_metrics(
    address: str, measurements: Iterable[Measurement], host: str, now: int, *, token: str = "", headers: str = ""
) -> str:
    """Send measurements to `otlp+https://host/…`; `/v1/metrics` is appended unless present. Returns where they went.

    Raises StoreError, also if the receiver rejects a part of them.
    """
    parts = urlsplit(address.removeprefix("otlp+"))
    path = parts.path if parts.path.rstrip("/").endswith(_PATH) else parts.path.rstrip("/") + _PATH
    post = HttpPoster(
        parts._replace(path=path, query="").geturl(), "application/x-protobuf", token, headers=parse_headers(headers)
    )
    try:
        response = post.send(build_metrics(measurements, host, now).SerializeToString(deterministic=True))
    finally:
        post.close()
    try:
        partial = ExportMetricsServiceResponse.FromString(response).partial_success
    except DecodeError:  # some receivers answer 200 with plain text
        return post.name
    if partial.rejected_data_points:
        raise StoreError(
            f"{post.name} rejected {partial.rejected_data_points} values: {partial.error_message}.", "refused", False
        )
    return post.name


def build_metrics(measurements: Iterable[Measurement], host: str, now: int) -> ExportMetricsServiceRequest:
    """Build one message; `now` is in seconds since 1970."""
    points: dict[str, list[NumberDataPoint]] = {}
    for each in measurements:
        attributes = encode_attributes({"sink": each.sink}.items() if each.sink else ())
        point = NumberDataPoint(attributes=attributes, time_unix_nano=now * 10**9, as_int=each.value)
        points.setdefault(each.name, []).append(point)
    resource = Resource(attributes=encode_attributes({"service.name": "clew", "service.instance.id": host}.items()))
    metrics = [Metric(name=name, gauge=Gauge(data_points=values)) for name, values in points.items()]
    scope = ScopeMetrics(scope=InstrumentationScope(name="clew", version=__version__), metrics=metrics)
    return ExportMetricsServiceRequest(resource_metrics=[ResourceMetrics(resource=resource, scope_metrics=[scope])])
