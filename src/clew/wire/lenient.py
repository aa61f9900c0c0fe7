"""Convert decoded JSON to typed shapes; a field that does not fit gets its default.

Every text in the result can be encoded: a lone surrogate, which JSON allows and UTF-8 does not, becomes U+FFFD. A
`Raw` field and the bytes of the line stay exact; `decode_readable` reads them in the same way.
"""

from __future__ import annotations

from functools import cache
from math import isfinite
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Raw, Struct, structs

from clew.wire.json_codec import encode, replace_surrogates

T = TypeVar("T", bound=Struct)


def convert_leniently(shape: type[T], value: dict[str, Any]) -> T:
    """Convert `value` to `shape`, field by field; items that are not objects are dropped from lists of objects."""
    fields: dict[str, Any] = {}
    for spec in _specs(shape):
        if spec.encode_name in value and not spec.encode_name.startswith("("):
            raw_value = value[spec.encode_name]
            fitted = raw_value not in (None, False, 0, "") if spec.encode_name in _FLAGS else _fit(spec.type, raw_value)
            if fitted is not _MISFIT:
                fields[spec.name] = fitted
    return shape(**fields)


@cache
def _specs(shape: type[Any]) -> tuple[structs.FieldInfo, ...]:
    """Return the fields of a shape, cached: looking them up takes as long as decoding a line."""
    return structs.fields(shape)


_MISFIT = object()
_FLAGS = ("isSidechain",)  # Claude Code only tests for a truthy value


def _fit(kind: Any, value: Any) -> Any:
    if kind is Any:
        return replace_surrogates(value)
    if kind is Raw:
        return Raw(encode(value))
    if isinstance(value, str):
        value = replace_surrogates(value)
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if isinstance(value, float) and isfinite(value):
        plain = {getattr(k, "__origin__", k) for k in kinds}  # a bounded int is an int
        value = int(value) if int in plain and float not in plain else value
    if isinstance(value, dict):
        shape = next((k for k in kinds if isinstance(k, type) and issubclass(k, Struct)), None)
        return convert_leniently(shape, value) if shape else _MISFIT
    if isinstance(value, list):
        items = next((get_args(k)[0] for k in kinds if get_origin(k) is list), None)
        if isinstance(items, type) and issubclass(items, Struct):
            return [convert_leniently(items, v) for v in value if isinstance(v, dict)]
        if items is None and list not in kinds:  # the field does not accept a list
            return _MISFIT
        value = replace_surrogates(value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return _MISFIT
