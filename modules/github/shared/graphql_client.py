"""Requests to GitHub's GraphQL API, for what the REST API lacks (https://docs.github.com/en/graphql)."""

from collections.abc import Mapping
from typing import Any, cast

from modules.github.shared import rest_client
from modules.github.shared.error_messages import MINUTE, explain_problem
from modules.kit import Context, VendorAnswer, VendorProblem
from modules.kit.paging import Where
from modules.kit.vendor import VendorProblemKind

DATA = "data"
# Of an error: what the REST API would have answered in its place. All others leave open what has happened.
_STATUSES: Mapping[str, tuple[int, VendorProblemKind]] = {
    "NOT_FOUND": (404, "not_found"),
    "FORBIDDEN": (403, "forbidden"),
    "UNPROCESSABLE": (422, "invalid"),
}
_LIMITS = frozenset({"RATE_LIMITED", "RATE_LIMIT"})


async def send_document(
    context: Context, document: str, variables: Mapping[str, Any], *, changes: bool, missing: str = ""
) -> VendorAnswer:
    """Send a query, or a mutation if it `changes` something. `missing` is what it means that GitHub finds nothing.

    Raises:
        VendorProblem: GitHub refused it, in its status or in the answer; the text says what to do.
    """
    body = {"query": document, "variables": dict(variables)}
    answer = await rest_client.send_request(
        context, "POST", "/graphql", json=body, host=rest_client.GRAPHQL, repeatable=not changes
    )
    raw = answer.json()
    if not isinstance(raw, Mapping):
        raise answer.build_unreadable_problem()
    errors = cast("Mapping[str, Any]", raw).get("errors")
    if errors:
        raise _explain_errors(answer, errors, missing)
    return answer


def build_place(*names: str) -> Where:
    """Build the place of a value below the data of an answer."""
    return (DATA, *names)


def find_data(answer: VendorAnswer, *names: str) -> Any:
    """Find a value below the data of an answer; None where it is missing."""
    value = answer.json()
    for name in (DATA, *names):
        value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
    return value


def _explain_errors(answer: VendorAnswer, errors: Any, missing: str) -> VendorProblem:
    first = cast("list[Any]", errors)[0] if isinstance(errors, list) else None
    kind = cast("Mapping[str, Any]", first).get("type") if isinstance(first, Mapping) else None
    if kind in _LIMITS:
        text = "GitHub's rate limit (graphql) of the connected account is used up"
        retry = f"try again in {MINUTE:.0f} s"
        return VendorProblem("rate_limited", text, retry=retry, retry_after=MINUTE, refused=answer.write)
    if kind == "INSUFFICIENT_SCOPES":
        text = "GitHub refuses: the connected account's token lacks a scope that this needs, such as repo"
        return VendorProblem("forbidden", text, answer=answer, refused=answer.write)
    if not isinstance(kind, str) or kind not in _STATUSES:
        return answer.build_unreadable_problem("GitHub could not carry this out")
    status, problem_kind = _STATUSES[kind]
    refusal = VendorProblem(problem_kind, "GitHub refuses this", answer=answer._replace(status=status))
    found = explain_problem(refusal, missing)
    return VendorProblem(found.kind, found.text, answer=answer, refused=answer.write)
