"""Options that choose who summarises: a model, or extracts without one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from clew.cli.output import print_message
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.edit.summary.summariser import SummaryTask
    from clew.errors import ApiError


def add_arguments(command: ArgumentParser) -> None:
    from clew.models import summary_model

    command.add_argument("--extractive", action="store_true", help="extract sentences instead of asking a model")
    command.add_argument("--model", metavar="NAME", help=f"the model to ask (default {summary_model()})")
    command.add_argument(
        "--base-url", metavar="URL", default="", help="a Messages API (default $ANTHROPIC_BASE_URL, else Anthropic's)"
    )


class Summariser:
    """Summarises pieces as the options say, and counts requests. A dry run uses extracts instead of a model."""

    def __init__(self, options: Namespace) -> None:
        self._options = options
        self._is_dry = options.dry_run or options.diff
        self.details: dict[str, Any] = {}
        self.failed: list[ApiError] = []

    def __call__(self, pieces: Sequence[SummaryTask]) -> Sequence[str | ApiError]:
        from clew.edit.summary.model_summariser import request_tokens, summary_requests
        from clew.edit.summary.summariser import summarise_by_extract
        from clew.errors import ApiError
        from clew.models import summary_model

        if self._options.extractive or not pieces:
            return summarise_by_extract(pieces)
        model = self._options.model or summary_model()
        tokens = request_tokens(summary_requests(pieces, model))
        self.details = {"asked": {"model": model, "requests": len(pieces), "tokens": tokens, "failed": []}}
        if self._is_dry:
            what = "1 summary" if len(pieces) == 1 else f"{len(pieces)} summaries"
            self._say(
                f"Would ask {model} for {what}, about {plural(tokens, 'token')}; what is shown stands on extracts instead."
            )
            return summarise_by_extract(pieces)
        summaries = self._ask(pieces, model)
        for piece, result in zip(pieces, summaries, strict=True):
            if isinstance(result, ApiError):
                self.failed.append(result)
                self.details["asked"]["failed"].append({"what": piece.name, "error": str(result)})
        return summaries

    def _ask(self, pieces: Sequence[SummaryTask], model: str) -> Sequence[str | ApiError]:
        from clew.api.endpoint import endpoint
        from clew.cli.progress import ProgressBar
        from clew.edit.summary.model_summariser import model_summariser
        from clew.errors import ApiError

        try:
            server = endpoint(self._options.base_url)
        except ApiError as error:
            hint = f"{error.hint} Or summarise without a model: --extractive"
            raise ApiError(str(error), error.kind, error.status, error.retry_after, hint=hint) from None
        progress = ProgressBar("Summarising", 0.0, quiet=self._options.quiet)
        return model_summariser(server, model, done=lambda count: progress.update(count, len(pieces)))(pieces)

    def _say(self, text: str) -> None:
        if not self._options.quiet:
            print_message(text)
