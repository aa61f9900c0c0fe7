"""End a turn early: when the budget is used up, and when the answer must have the form of a schema."""

from __future__ import annotations

from msgspec import Struct, field

from clew.chat import events
from clew.chat.config.system_prompt import system_reminder
from clew.chat.deps import Deps
from clew.chat.events import Ending
from clew.chat.store.live_conversation import LiveConversation
from clew.models import default_model
from clew.system.plural import plural

MISSING_OUTPUT = "Your answer must be handed in with the tool StructuredOutput. Call it now."
TurnEnd = tuple[Ending, tuple[str, ...]]  # how it ends, and the errors


class TurnLimits(Struct):
    """Limits of the turns of one conversation."""

    conversation: LiveConversation
    deps: Deps
    agent: str = ""
    assumed_models: set[str] = field(default_factory=set)  # those without a price that the user was told of
    was_asked_for_output: bool = False

    def begin(self) -> None:
        """Begin a turn."""
        self.was_asked_for_output = False
        if self.deps.output is not None:
            self.deps.output.begin()

    def end_at_budget(self) -> TurnEnd | None:
        """Return how a turn ends whose session has used up its budget. The user is told how unknown prices count."""
        budget, model = self.deps.limits.dollars, self.conversation.model
        if budget is None:
            return None
        if model not in self.assumed_models and not self.deps.cost.has_price(model):
            self.assumed_models.add(model)
            text = f"{model} has no price: the budget counts it like {default_model()}."
            self.deps.emit(events.Notice(agent=self.agent, text=text, level="warning"))
        if self.deps.cost.budget_dollars < budget:
            return None
        return "error_max_budget_usd", (f"Reached the budget of ${budget:g}.",)

    @property
    def output_text(self) -> str:
        """The answer in the form of the schema as JSON; "" if there is none."""
        output = self.deps.output
        return output.text if output is not None and output.answer is not None else ""

    def end_with_output(self) -> TurnEnd | None:
        """Return how a turn ends whose answer fits the schema, or did not fit it too often."""
        output = self.deps.output
        if self.output_text:
            return "success", ()
        if output is not None and output.is_exhausted:
            attempts = plural(output.attempts, "attempt")
            return "error_max_structured_output_retries", (f"No valid output after {attempts}. {output.problem}",)
        return None

    def require_output(self) -> TurnEnd | None:
        """Return how a turn ends whose answer must fit a schema and has none; None to ask the model for it once."""
        if self.was_asked_for_output:
            problem = "The model did not answer in the form of the schema."
            return "error_max_structured_output_retries", (problem,)
        self.was_asked_for_output = True
        self.conversation.note(system_reminder(MISSING_OUTPUT))
        return None
