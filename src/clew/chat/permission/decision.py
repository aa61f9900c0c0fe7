"""The decision about a tool call."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from clew.wire.json_codec import Json

Kind = Literal["allow", "deny", "ask"]


class Decision(Struct, frozen=True):
    """The decision about one call. `reason` is shown to the user, `message` is sent to the model if the call is not
    made.
    """

    kind: Kind
    reason: str = ""
    input: Json | None = None  # the input to use instead, if it was changed
    message: str = ""
    suggestions: tuple[str, ...] = ()  # rules that would allow the call without a prompt next time
    path: str | None = None  # the file that the prompt is about
    rule: str = ""  # the rule that decided; a hook cannot answer the prompt of an ask rule with allow
