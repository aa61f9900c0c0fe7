"""What a search looks for in the bytes of the prompt history, without regular expressions."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from clew.index.gone_sessions import _has_escape, _session_ids


@given(st.lists(st.sampled_from([b"\\", b"u", b"\\u", b"00e9", b"\\u00e9", b"a", b"1", b"x"])))
def test_escapes_are_found_as_by_an_expression(parts: list[bytes]) -> None:
    data = b"".join(parts)
    assert _has_escape(data) == bool(re.search(rb"(?<!\\)(?:\\\\)*\\u[0-9a-f]{4}", data))


@given(st.lists(st.sampled_from([b'{"a":1,"sessionId"', b" ", b":", b'"3f2a-1"}', b'""', b"\n", b'\\"sessionId\\"'])))
def test_session_ids_are_found_as_by_an_expression(parts: list[bytes]) -> None:
    data = b"".join(parts)
    assert list(_session_ids(data)) == re.findall(rb'"sessionId"\s*:\s*"([^"]+)"', data)
