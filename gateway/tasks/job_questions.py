"""Questions of a job's tool to the client: answered before, or for whoever waits for the job to ask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.mcp.client_questions import compute_question_digest
from gateway.mcp.request_context import AskedQuestion, GivenResponse, Result
from gateway.tasks.stored_call import StoredCall


class QuestionsAsked(Exception):
    """Ends a job whose client has to be asked first."""

    def __init__(self, questions: Sequence[AskedQuestion]) -> None:
        super().__init__("the client has to be asked")
        self.questions = questions


@dataclass(frozen=True, slots=True)
class JobQuestions:
    """Implements :class:`gateway.mcp.request_context.ClientQuestions` within a job. `capabilities` are those of the
    client that has started it."""

    capabilities: Mapping[str, Any]
    responses: Mapping[str, GivenResponse]

    def find_response(self, question: AskedQuestion) -> Any | None:
        """Find what the client has answered before the job began."""
        given = self.responses.get(question.key)
        return given.response if given is not None and given.digest == compute_question_digest(question) else None

    def get_responses(self) -> Mapping[str, GivenResponse]:
        """Return what the client has answered before the job began."""
        return self.responses

    def build_request(self, questions: Sequence[AskedQuestion]) -> Result:
        """Raises: QuestionsAsked: always."""
        raise QuestionsAsked(questions)


def create_job_questions(call: StoredCall) -> JobQuestions | None:
    """Create the way to ask for a job; None where nobody waits who could."""
    if call.capabilities is None:
        return None
    return JobQuestions(call.capabilities, call.responses)
