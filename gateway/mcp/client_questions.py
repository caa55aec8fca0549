"""Asking the client behind a call: a form for its person, its model, or its folders.

[2026-07-28] alone: the call answers `input_required` and is sent again with the answers (Multi Round-Trip Requests).
Such requests of earlier revisions need a channel from the server to the client, which a gateway without sessions does
not have.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from core.caller import Caller
from gateway.mcp.request_context import AskedQuestion, GivenResponse, Params, Result
from gateway.mcp.request_state import RequestState, RequestStateSealer
from modules.kit import ClientCannotAnswer, ConfirmationOutcome, ToolError

FORM_KEY = "user-confirmation"
"""Names the form of a confirmation among other questions of the same call: no module has such a name."""
FIELD = "confirm"
MAX_QUESTIONS = 10
"""Of one answer to a call."""
DIGEST = 16

NO_CAPABILITIES: Mapping[str, Any] = {}
ALL_CAPABILITIES: Mapping[str, Any] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}


@dataclass(frozen=True, slots=True)
class CallQuestions:
    """Implements :class:`gateway.mcp.request_context.ClientQuestions` for one call. `state` is what the call brings,
    which has been checked; `_used` are the responses that its tool has read."""

    sealer: RequestStateSealer
    params: Params
    caller: Caller
    capabilities: Mapping[str, Any]
    state: RequestState | None
    _used: dict[str, GivenResponse] = field(default_factory=dict[str, GivenResponse])

    def find_response(self, question: AskedQuestion) -> Any | None:
        """Find what the client has answered to this very question; None where it has to be asked."""
        digest = compute_question_digest(question)
        response = self._find_new_response(question, digest)
        if response is None and self.state is not None:
            before = self.state.given.get(question.key)
            response = before.response if before is not None and before.digest == digest else None
        if response is not None:
            self._used[question.key] = GivenResponse(digest, response)
        return response

    def _find_new_response(self, question: AskedQuestion, digest: str) -> Any | None:
        """Find a response that comes with this call. One to a question that was never asked counts as well, unless the
        question is bound: a client may know what it will be asked ([2026-07-28] Multi Round-Trip Requests)."""
        response = _get_field(self.params.get("inputResponses"), question.key)
        if self.state is None:
            return None if question.is_bound else response
        return response if self.state.asked.get(question.key) == digest else None

    def get_responses(self) -> dict[str, GivenResponse]:
        """Return all responses to questions that were asked before, for the job that this call becomes."""
        if self.state is None:
            return {}
        responses = dict(self.state.given)
        for key, digest in self.state.asked.items():
            response = _get_field(self.params.get("inputResponses"), key)
            if response is not None:
                responses[key] = GivenResponse(digest, response)
        return responses

    def build_request(self, questions: Sequence[AskedQuestion]) -> Result:
        """Build the result that has the client asked.

        Raises:
            ProtocolError: the answers that have been given are too long to go with the call.
        """
        asked = {question.key: compute_question_digest(question) for question in questions}
        given = {key: response for key, response in self._used.items() if key not in asked}
        return {
            "resultType": "input_required",
            "inputRequests": {question.key: build_input_request(question) for question in questions},
            "requestState": self.sealer.seal(self.params, self.caller, RequestState(False, asked, given)),
        }


class UnableClient:
    """Implements :class:`gateway.mcp.request_context.ClientQuestions` for a client that declares nothing."""

    capabilities: Mapping[str, Any] = NO_CAPABILITIES

    def find_response(self, question: AskedQuestion) -> Any | None:
        """Never called: nothing is asked."""
        raise AssertionError(question)

    def get_responses(self) -> dict[str, GivenResponse]:
        """Return none."""
        return {}

    def build_request(self, questions: Sequence[AskedQuestion]) -> Result:
        """Never called: nothing is asked."""
        raise AssertionError(questions)


class BatchQuestions(UnableClient):
    """Implements :class:`gateway.mcp.request_context.ClientQuestions` within a batch, which does not wait."""

    # All that there is: the question is refused when it comes, with what to do instead.
    capabilities = ALL_CAPABILITIES

    def find_response(self, question: AskedQuestion) -> Any | None:
        """Refuse to ask.

        Raises:
            ToolError: always; it says what to do instead.
        """
        instead = f", or {question.instead}" if question.instead else ""
        raise ToolError(
            "nothing was done: this tool asks the user first, and a batch does not wait for an answer; use call"
            f"{instead}"
        )


NO_CLIENT = UnableClient()
IN_BATCH = BatchQuestions()


def build_confirmation(message: str, label: str, instead: str = "") -> AskedQuestion:
    """Build the question for a confirmation: a form with one box to tick, `label` beside it."""
    box = {"type": "boolean", "title": label, "default": False}
    schema = {"type": "object", "properties": {FIELD: box}, "required": [FIELD]}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return AskedQuestion(FORM_KEY, "elicitation/create", params, instead, is_bound=True)


def read_confirmation(response: object) -> ConfirmationOutcome:
    """Read what the person said to a confirmation. Anything but a ticked box that was sent off is no."""
    has_agreed = _get_field(response, "action") == "accept"
    has_ticked = _get_field(_get_field(response, "content"), FIELD) is True
    return ConfirmationOutcome.CONFIRMED if has_agreed and has_ticked else ConfirmationOutcome.DECLINED


def build_input_request(question: AskedQuestion) -> dict[str, Any]:
    """Build the request to the client (InputRequest)."""
    return {"method": question.method, "params": question.params}


def build_cannot_answer(path: Sequence[str]) -> ClientCannotAnswer:
    """Build the error for a client that has not declared a capability."""
    text = f"nothing was done: your MCP client cannot be asked ({'.'.join(path)}); use one that can"
    return ClientCannotAnswer(text, build_missing_capabilities(path))


def is_response(method: str, response: object) -> bool:
    """Check whether something has the form of an answer to a request of this method."""
    if method != "elicitation/create":
        return type(response) is dict
    content = _get_field(response, "content")
    return _get_field(response, "action") in ("accept", "decline", "cancel") and type(content) in (dict, type(None))


def has_capability(capabilities: Mapping[str, Any], path: Sequence[str]) -> bool:
    """Check whether a client's capabilities include one that questions take, such as elicitation, form."""
    if path[0] == "elicitation":
        return supports_forms(capabilities)
    return type(capabilities.get(path[0])) is dict


def select_capabilities(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Select those of a client's capabilities that questions take."""
    selected = {name: capabilities[name] for name in ("sampling", "roots") if has_capability(capabilities, (name,))}
    return {"elicitation": {"form": {}}, **selected} if supports_forms(capabilities) else selected


def build_missing_capabilities(path: Sequence[str]) -> dict[str, Any]:
    """Build the capabilities that a client would have to declare."""
    required: dict[str, Any] = {}
    for name in reversed(path):
        required = {name: required}
    return required


def supports_forms(capabilities: object) -> bool:
    """Check whether a client's capabilities include elicitation by form; ``{}`` means forms only."""
    elicitation = _get_field(capabilities, "elicitation")
    return elicitation == {} or type(_get_field(elicitation, "form")) is dict


def supports_questions(capabilities: Mapping[str, Any]) -> bool:
    """Check whether a client's capabilities include anything that it can be asked without a page."""
    return "sampling" in capabilities or "roots" in capabilities or supports_forms(capabilities)


def compute_question_digest(question: AskedQuestion) -> str:
    """Compute what an answer is bound to: what the client was asked (hexadecimal)."""
    text = orjson.dumps([question.method, question.params], option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(text, digest_size=DIGEST).hexdigest()


def _get_field(value: object, name: str) -> Any:
    return cast("Mapping[str, Any]", value).get(name) if type(value) is dict else None
