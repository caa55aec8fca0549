"""Asking the person behind the client to confirm something, by a form of the client's (form elicitation).

[2026-07-28] alone: the call answers `input_required` and is sent again with what the person said. A form of an earlier
revision needs a channel from the server to the client, which a gateway without sessions does not have.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from core.caller import Caller
from gateway.mcp.request_context import ConfirmationQuestion, GivenAnswer, Params, Result
from gateway.mcp.request_state import DIGEST, FORM, RequestState, RequestStateSealer
from modules.kit import ConfirmationOutcome, ToolError

FORM_KEY = "user-confirmation"
"""Names the form among others of the same call: no module has such a name."""
FIELD = "confirm"


@dataclass(frozen=True, slots=True)
class FormConfirmations:
    """Implements :class:`gateway.mcp.request_context.Confirmations` for one call. `answered` is the state that the call
    brings, which has been checked."""

    sealer: RequestStateSealer
    params: Params
    caller: Caller
    answered: RequestState | None

    def find_answer(self, question: ConfirmationQuestion) -> ConfirmationOutcome | None:
        """Find what the person said to this very question; None where they have to be asked."""
        given = self.get_given_answer()
        return given.outcome if given is not None and given.digest == compute_question_digest(question) else None

    def get_given_answer(self) -> GivenAnswer | None:
        """Return what the person said, to whatever question it was; None where they said nothing."""
        if self.answered is None or self.answered.kind != FORM:
            return None
        response = _get_field(self.params.get("inputResponses"), FORM_KEY)
        return None if response is None else GivenAnswer(self.answered.digest, read_response(response))

    def build_request(self, question: ConfirmationQuestion) -> Result:
        """Build the result that has the client show the form."""
        state = RequestState(FORM, compute_question_digest(question))
        return {
            "resultType": "input_required",
            "inputRequests": {FORM_KEY: build_form_request(question)},
            "requestState": self.sealer.seal(self.params, self.caller, state),
        }


class BatchConfirmations:
    """Implements :class:`gateway.mcp.request_context.Confirmations` within a batch, which does not wait."""

    def find_answer(self, question: ConfirmationQuestion) -> ConfirmationOutcome | None:
        """Refuse to ask.

        Raises:
            ToolError: always; it says what to do instead.
        """
        instead = f", or {question.instead}" if question.instead else ""
        raise ToolError(
            "nothing was done: this tool asks the user first, and a batch does not wait for an answer; use call"
            f"{instead}"
        )

    def get_given_answer(self) -> GivenAnswer | None:
        """Return None: nobody was asked."""
        return None

    def build_request(self, question: ConfirmationQuestion) -> Result:
        """Never called: no question is open."""
        raise AssertionError(question)


IN_BATCH = BatchConfirmations()


def build_form_request(question: ConfirmationQuestion) -> dict[str, Any]:
    """Build the request that has the client show the form."""
    field = {"type": "boolean", "title": question.label, "default": False}
    schema = {"type": "object", "properties": {FIELD: field}, "required": [FIELD]}
    form = {"mode": "form", "message": question.message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": form}


def read_response(response: object) -> ConfirmationOutcome:
    """Read what the person said to the form. Anything but a ticked box that was sent off is no."""
    has_agreed = _get_field(response, "action") == "accept"
    has_ticked = _get_field(_get_field(response, "content"), FIELD) is True
    return ConfirmationOutcome.CONFIRMED if has_agreed and has_ticked else ConfirmationOutcome.DECLINED


def is_response(response: object) -> bool:
    """Check whether something is an answer to a form (ElicitResult)."""
    content = _get_field(response, "content")
    return _get_field(response, "action") in ("accept", "decline", "cancel") and type(content) in (dict, type(None))


def supports_forms(capabilities: object) -> bool:
    """Check whether a client's capabilities include elicitation by form; ``{}`` means forms only."""
    elicitation = _get_field(capabilities, "elicitation")
    return elicitation == {} or type(_get_field(elicitation, "form")) is dict


def compute_question_digest(question: ConfirmationQuestion) -> bytes:
    """Compute what an answer is bound to: what the person was shown."""
    return hashlib.blake2b(f"{question.label}\0{question.message}".encode(), digest_size=DIGEST).digest()


def _get_field(value: object, name: str) -> Any:
    return cast("Mapping[str, Any]", value).get(name) if type(value) is dict else None
