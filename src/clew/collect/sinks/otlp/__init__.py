"""Deliver sessions as OpenTelemetry spans, and the state of the collector as metrics.

Modules:
    attribute_names  Attribute names of the OpenTelemetry conventions for generative AI.
    exporter         Send spans to an OTLP receiver over HTTP, as protobuf.
    metrics          Send the state of the archive and of its sinks as OpenTelemetry metrics over HTTP, as protobuf.
    span_cursor      Find the spans that a receiver has not been sent.
    spans            Convert a conversation to OpenTelemetry spans by the conventions for generative AI.
"""
