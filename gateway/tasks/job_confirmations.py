"""Questions of a job's tool to the person: answered before, or for whoever waits for the job to ask."""

from dataclasses import dataclass

from gateway.mcp.confirmation import compute_question_digest
from gateway.mcp.request_context import ConfirmationQuestion, GivenAnswer, Result
from gateway.tasks.stored_call import StoredCall
from modules.kit import ConfirmationOutcome


class QuestionAsked(Exception):
    """Ends a job whose person has to be asked first."""

    def __init__(self, question: ConfirmationQuestion) -> None:
        super().__init__("a person has to be asked")
        self.question = question


@dataclass(frozen=True, slots=True)
class JobConfirmations:
    """Implements :class:`gateway.mcp.request_context.Confirmations` within a job."""

    given: GivenAnswer | None

    def find_answer(self, question: ConfirmationQuestion) -> ConfirmationOutcome | None:
        """Find what the person said before the job began."""
        given = self.given
        return given.outcome if given is not None and given.digest == compute_question_digest(question) else None

    def get_given_answer(self) -> GivenAnswer | None:
        """Return what the person said before the job began."""
        return self.given

    def build_request(self, question: ConfirmationQuestion) -> Result:
        """Raises: QuestionAsked: always."""
        raise QuestionAsked(question)


def create_job_confirmations(call: StoredCall) -> JobConfirmations | None:
    """Create the way to ask for a job; None where nobody waits who could."""
    if not call.may_ask:
        return None
    if not call.answered:
        return JobConfirmations(None)
    return JobConfirmations(GivenAnswer(bytes.fromhex(call.answered), ConfirmationOutcome(call.outcome)))
