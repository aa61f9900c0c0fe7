"""Read and write JSON-RPC messages, one per line. An invalid line is answered with an error; reading continues."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from acp.meta import AGENT_METHODS

MAX_LINE_BYTES = 1 << 28  # a prompt may contain images
CLOSE_TIMEOUT = 5.0  # seconds to answer pending requests after the editor closes its end
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_KNOWN = frozenset(AGENT_METHODS.values())


class JsonRpcLines:
    """The transport of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: BinaryIO, remark: Callable[[str], None]) -> None:
        self._reader = reader
        self._writer = writer
        self._remark = remark
        self._write_lock = asyncio.Lock()
        self._unanswered: set[str | int | None] = set()  # ids of requests without a response
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. Messages are written in the order of the calls; an editor that does not read blocks only
        writes.
        """
        line = json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"
        try:
            async with self._write_lock:
                await asyncio.to_thread(self._write, line)
        except BrokenPipeError:  # the editor stopped reading; the reader notices when it closes
            pass
        if "method" not in message:
            self._unanswered.discard(message["id"])
            if not self._unanswered:
                self._is_idle.set()

    def _write(self, line: bytes) -> None:
        self._writer.write(line)
        self._writer.flush()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None when the editor has closed its end."""
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:
                await self._send_error(PARSE_ERROR, f"The line has more than {MAX_LINE_BYTES} bytes.")
                continue
            if not line:
                return None
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                await self._send_error(PARSE_ERROR, "The line is not valid JSON.")
                continue
            if fault := _describe_invalid(value):
                await self._send_error(INVALID_REQUEST, fault, value)
            elif _is_unknown(value):
                self._remark(f"clew: ignored the notification {value['method']}")
            else:
                message: dict[str, Any] = value
                if "method" in value and "id" in value:
                    self._unanswered.add(value["id"])
                    self._is_idle.clear()
                return message

    async def close(self) -> None:
        """Wait briefly until all requests are answered. The streams are not closed here."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_idle.wait(), CLOSE_TIMEOUT)

    async def _send_error(self, code: int, reason: str, value: Any = None) -> None:
        self._remark(f"clew: a line was refused. {reason}")
        received_id = value.get("id") if isinstance(value, dict) else None
        request_id = received_id if isinstance(received_id, str | int) else None
        await self.send({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": reason}})


def _describe_invalid(value: Any) -> str:
    """Return why a value is not a message; empty if it is one."""
    if not isinstance(value, dict):
        return "A message is an object."
    if not isinstance(value.get("id"), str | int | None):
        return "The id of a message is a string or a number."
    if "method" in value:
        return "" if isinstance(value["method"], str) else "The method of a message is a string."
    if "id" not in value or not ("result" in value or "error" in value):
        return "The message is not a request, a notification or a response."
    return "" if isinstance(value.get("error", {}), dict | None) else "The error of a response is an object."


def _is_unknown(message: dict[str, Any]) -> bool:
    """Return True if the message is a notification that this agent does not handle."""
    method = message.get("method")
    return method is not None and "id" not in message and method not in _KNOWN and not method.startswith("_")
