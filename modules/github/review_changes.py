"""Reviews that are there: their text, taken back, or thrown away before they were sent."""

from typing import Annotated, Any

from pydantic import Field

from modules.github.reviews import SavedReview
from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, CommentBody, Id, Number, Owner, Repo
from modules.github.shared.result_models import Confirmation
from modules.kit import Context, ToolError, VendorProblem, tool
from modules.kit.parameters import CHANGE_HINTS, limit_length

ReviewId = Annotated[Id, Field(description="The review's id")]
NO_REVIEW = "no such review of this pull request: read it with its reviews, which have their ids"


def _build_address(owner: str, repo: str, pull_number: int, review_id: int, below: str = "") -> str:
    return rest_client.build_repository_path(owner, repo, f"/pulls/{{}}/reviews/{{}}{below}", pull_number, review_id)


async def _change(
    context: Context, method: str, address: str, unfit: str, fields: dict[str, Any] | None = None
) -> SavedReview:
    """Send a change; `unfit` is said where GitHub refuses it for what the review is."""
    try:
        return await rest_client.fetch_one(context, SavedReview, address, method=method, json=fields, missing=NO_REVIEW)
    except VendorProblem as problem:
        if problem.kind == "invalid":
            raise ToolError(unfit) from None
        raise


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def update_review(
    context: Context, owner: Owner, repo: Repo, pull_number: Number, review_id: ReviewId, body: CommentBody
) -> SavedReview:
    """Replace the text of one's own review."""
    address = _build_address(owner, repo, pull_number, review_id)
    return await rest_client.fetch_one(
        context, SavedReview, address, method="PUT", json={"body": body}, missing=NO_REVIEW
    )


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def dismiss_review(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    review_id: ReviewId,
    message: Annotated[str, limit_length(1, 65_536), Field(description="Why")],
) -> SavedReview:
    """Dismiss an approval or a request for changes: it counts no more, and stays readable."""
    address = _build_address(owner, repo, pull_number, review_id, "/dismissals")
    unfit = "only an approval or a request for changes can be dismissed, once"
    return await _change(context, "PUT", address, unfit, {"message": message, "event": "DISMISS"})


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def delete_pending_review(
    context: Context, owner: Owner, repo: Repo, pull_number: Number, review_id: ReviewId
) -> Confirmation:
    """Delete one's own review that is not submitted yet, with its comments."""
    address = _build_address(owner, repo, pull_number, review_id)
    await _change(context, "DELETE", address, "this review was submitted: it can be dismissed, and not deleted")
    return Confirmation()


TOOLS = (update_review, dismiss_review, delete_pending_review)
