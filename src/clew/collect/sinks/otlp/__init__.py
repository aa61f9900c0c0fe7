"""Deliver sessions as OpenTelemetry spans.

Modules:
    attribute_names  Names: what OpenTelemetry calls what clew tells, in one place, because these conventions are
                     still in development.
    exporter         A sink for OpenTelemetry: spans to whatever receives OTLP over HTTP, as protobuf.
    span_cursor      The cursor of spans: which spans of which files a receiver has not been sent.
    spans            Spans: a conversation as OpenTelemetry sees it, by its conventions for generative AI.
"""
