"""A lenient conversion of decoded JSON into the typed shapes: what does not fit falls back to its default.

Every text in the result can be encoded: a lone surrogate, which JSON can hold and UTF-8 cannot, becomes U+FFFD. A `Raw`
field stays exact, and so do the bytes of the line; `decode_readable` reads them in the same way.
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


def soften(shape: type[T], value: dict[str, Any]) -> T:
    """`value` as `shape`, field by field; non-objects in lists of objects are left out."""
    fields: dict[str, Any] = {}
    for spec in _specs(shape):
        if spec.encode_name in value and not spec.encode_name.startswith("("):
            given = value[spec.encode_name]
            fitted = given not in (None, False, 0, "") if spec.encode_name in _FLAGS else _fit(spec.type, given)
            if fitted is not _MISFIT:
                fields[spec.name] = fitted
    return shape(**fields)


@cache
def _specs(shape: type[Any]) -> tuple[structs.FieldInfo, ...]:
    """The fields of a shape; finding them out takes as long as decoding a line."""
    return structs.fields(shape)


_MISFIT = object()
_FLAGS = ("isSidechain",)  # Claude Code asks only whether there is anything


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
        return soften(shape, value) if shape else _MISFIT
    if isinstance(value, list):
        items = next((get_args(k)[0] for k in kinds if get_origin(k) is list), None)
        if isinstance(items, type) and issubclass(items, Struct):
            return [soften(items, v) for v in value if isinstance(v, dict)]
        if items is None and list not in kinds:  # nothing that a list could become
            return _MISFIT
        value = replace_surrogates(value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return _MISFIT
