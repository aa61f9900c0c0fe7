"""Control requests that ask the model outside the conversation: a title, and a question on the side."""

from __future__ import annotations

from msgspec import Struct

from clew.chat.sdk.sdk_connection import Handler, SdkConnection, text_field
from clew.chat.turn.side_request import suggest_title
from clew.errors import ApiError
from clew.wire.json_codec import Json


class ModelRequests(Struct):
    """Answers the requests that need the model."""

    connection: SdkConnection

    def handlers(self) -> dict[str, Handler]:
        return {"generate_session_title": self._title, "side_question": self._side_question}

    async def _title(self, request: Json) -> Json:
        """Let the model write a title; with `persist` the session gets it. The title is null if there is none."""
        description = text_field(request, "generate_session_title", "description")
        engine = (await self.connection.ensure_started()).engine
        try:
            title = await suggest_title(engine.deps, engine.conversation.model, description)
        except ApiError as error:
            self.connection.warn(f"No title: {error}")
            title = ""
        if title and request.get("persist"):
            engine.rename(title)
        return {"title": title or None}

    async def _side_question(self, request: Json) -> Json:
        """Answer a question about the conversation that is not added to it."""
        question = text_field(request, "side_question", "question")
        engine = (await self.connection.ensure_started()).engine
        try:
            return {"response": await engine.ask_aside(question), "synthetic": False}
        except ApiError as error:
            return {"response": f"(API error: {error})", "synthetic": True}
