"""Error texts for Supabase's refusals, in our own words (https://api.supabase.com/api/v1).

Its messages repeat what databases and people wrote, and a model takes the text of an error for ours. So none is passed
on. Of a failed query there remain PostgreSQL's code for the error, the line, and names that stand in the caller's own
query.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from modules.kit import VendorAnswer, VendorProblem
from modules.kit.vendor import VendorProblemKind

_MAX_MESSAGE_LENGTH = 4_000
_SQL_ERROR = re.compile(r"ERROR: {1,3}([0-9A-Z]{5}): ?([^\r\n]{0,500})")
_LINE = re.compile(r"\bLINE ([0-9]{1,6}):")
_QUOTED = re.compile(r'"([^"\r\n]{1,128})"')
_UNQUALIFIED = re.compile(r"column ([A-Za-z_][A-Za-z0-9_.$]{0,127}) does not exist")

# What is known of Supabase's messages; the first that is found counts.
_MESSAGES: tuple[tuple[str, VendorProblemKind, str], ...] = (
    (r"branching is (not enabled|disabled)|branching.{0,40}(pro|paid) plan", "forbidden",
     "branches are not available here: they have to be enabled for the project, on a paid plan"),
    (r"project is (paused|inactive)|is paused|inactive project", "conflict",
     "the project is paused: restore it first, and wait until its status is ACTIVE_HEALTHY"),
    (r"free (project|plan).{0,60}limit|project limit|maximum limits? .{0,40}projects", "forbidden",
     "the organization has as many projects as its plan allows: pause one or change the plan"),
    (r"maximum (number of )?functions", "forbidden", "the plan's number of edge functions is reached"),
    (r"password.{0,40}(weak|strong|length|characters)", "invalid",
     "db_pass is too weak: leave it out, and a strong one is made"),
    (r"region", "invalid", "region is not one that the organization can use"),
    (r"slug", "invalid", "slug is not one that Supabase takes"),
    (r"already exists|duplicate", "conflict", "there is one of that name already: choose another name"),
    (r"(failed to )?(bundle|bundling|parse)|entrypoint", "invalid",
     "the function's files cannot be bundled: check entrypoint_path, the imports and the code"),
    (r"connection (terminated|refused|timeout)|ECONNREFUSED|ETIMEDOUT", "unavailable",
     "the project's database cannot be reached: look at the project's status and health"),
)  # fmt: skip
_KNOWN: list[tuple[re.Pattern[str], VendorProblemKind, str]] = [
    (re.compile(pattern, re.IGNORECASE), kind, text) for pattern, kind, text in _MESSAGES
]

_PARTNERS = "Supabase gives this to selected partner apps only: connect with a personal access token (sbp_…) instead"

# PostgreSQL's codes (https://www.postgresql.org/docs/current/errcodes-appendix.html), and their classes.
_SQL_TEXTS: Mapping[str, str] = {
    "25006": "the query changes something, and this tool only reads",
    "42501": "the role of this query lacks the right",
    "42601": "syntax error",
    "42703": "no such column",
    "42883": "no such function or operator for these types: qualify its name with its schema, or add casts",
    "42P01": "no such table or view: qualify its name with its schema, or look at the list of tables",
    "42P02": "no such parameter: $1 is the first of parameters",
    "42P07": "a table or view of that name exists already",
    "42701": "a column of that name exists already",
    "42704": "no such object",
    "42710": "an object of that name exists already",
    "42803": "a column has to be in GROUP BY or in an aggregate",
    "42804": "the types do not fit",
    "3F000": "no such schema",
    "08P01": "the number of parameters is not that of the placeholders ($1, $2, …)",
    "23502": "a column that must not be null has no value",
    "23503": "a foreign key is violated",
    "23505": "a unique value is there already",
    "23514": "a check constraint is violated",
    "2BP01": "other objects depend on it",
    "22P02": "a value has not the form of its type",
    "22012": "division by zero",
    "40001": "another transaction was in the way: run it again",
    "40P01": "a deadlock with another transaction: run it again",
    "53300": "the database has no free connection: try again later",
    "55P03": "a lock could not be had: try again later",
    "57014": "the query took too long and was cancelled: make it narrower, or add an index",
}
_SQL_CLASSES: Mapping[str, str] = {
    "08": "the project's database cannot be reached: look at the project's status and health",
    "22": "a value does not fit",
    "23": "a constraint is violated",
    "25": "the transaction is in another state than the query needs",
    "28": "the database refuses the role",
    "42": "the query names what is not there, or is not SQL",
    "53": "the database has run out of a resource",
    "54": "a limit of PostgreSQL's is exceeded",
    "57": "the database was interrupted",
    "P0": "a function or trigger raised an error of its own",
}


def explain_problem(problem: VendorProblem, *, missing: str = "", partners_only: bool = False) -> VendorProblem:
    """`problem` with a text that says what to do. `missing` is what a 404 means for this request; `partners_only` that
    a 403 most likely comes from Supabase's list of partners."""
    answer = problem.answer
    if answer is None or problem.unknown or answer.status == 401 or problem.kind == "rate_limited":
        return problem  # the session knows more: about the way, the credential or the pause
    message = _read_message(answer)
    kind: VendorProblemKind = problem.kind
    text = ""
    if found := next((one for one in _KNOWN if one[0].search(message)), None):
        _, kind, text = found
    elif answer.status == 404:
        kind, text = "not_found", missing or _NOT_FOUND
    elif answer.status == 403:
        text = _PARTNERS if partners_only else _FORBIDDEN
    elif answer.status in (400, 406, 422):
        kind, text = "invalid", "Supabase refuses the values: check them against the tool schema"
    if not text:
        return problem
    return VendorProblem(kind, text, retry_after=problem.retry_after, answer=answer)


_NOT_FOUND = (
    "Supabase has no such object, or the connected account may not see it: check the ref and the name in the "
    "list of such objects"
)
_FORBIDDEN = (
    "the connected account may not do this: its role in the organization, the OAuth app's scopes or the access token's "
    "permissions do not cover it"
)


def explain_sql_problem(problem: VendorProblem, query: str, *, partners_only: bool = False) -> VendorProblem:
    """The refusal of a query, with PostgreSQL's code and what of its message is the caller's own text.

    A query that PostgreSQL refused was rolled back, so nothing about it is unknown.
    """
    if problem.answer is None or problem.answer.status in (401, 403) or problem.kind == "rate_limited":
        return explain_problem(problem, partners_only=partners_only)
    message = _read_message(problem.answer)
    error = _SQL_ERROR.search(message)
    if error is None:
        return explain_problem(problem)
    code = error[1]
    reason = _SQL_TEXTS.get(code) or _SQL_CLASSES.get(code[:2]) or "the database refuses the query"
    names = [*_QUOTED.findall(error[2]), *_UNQUALIFIED.findall(error[2])]
    own = next((name for name in names if name in query), "")
    line = _LINE.search(message)
    place = ", ".join(part for part in (f"at {own!r}" if own else "", f"line {line[1]}" if line else "") if part)
    text = f"PostgreSQL refuses the query ({code}): {reason}"
    return VendorProblem("invalid", f"{text} ({place})" if place else text, answer=problem.answer)


def _read_message(answer: VendorAnswer) -> str:
    """The message of a refusal, which is only ever compared."""
    try:
        raw = answer.json()
    except VendorProblem:
        return ""  # a proxy's page, perhaps
    document: Mapping[str, Any] = cast("Any", raw) if isinstance(raw, Mapping) else {}
    return str(document.get("message") or "")[:_MAX_MESSAGE_LENGTH]
