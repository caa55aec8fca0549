"""Errors of the admin API as the command line's own: the same codes and exit codes, with clear texts."""

from collections.abc import Mapping
from typing import Any, cast

from cli.client.server_http import ServerResponse
from core.errors import Conflict, Forbidden, Invalid, LimitReached, MCPistError, NotFound, Unavailable

MAX_TEXT_LENGTH = 1_000
MAX_FIELD_ERRORS = 10


class NotSignedIn(MCPistError):
    """There is no access to the server, or it has ended."""

    status, code, exit_code = 401, "unauthenticated", 3


class MissingScope(MCPistError):
    """The credential may not do this for its user."""

    status, code, exit_code = 403, "insufficient_scope", 3


class NewSignInRequired(MCPistError):
    """This needs a person who has signed in just now."""

    status, code, exit_code = 403, "recent_sign_in_required", 3


_ERROR_TYPES: Mapping[str, type[MCPistError]] = {
    kind.code: kind
    for kind in (
        *(Conflict, Forbidden, Invalid, LimitReached, NotFound, Unavailable),
        *(NotSignedIn, MissingScope, NewSignInRequired),
    )
}


def build_api_error(response: ServerResponse) -> MCPistError:
    """Build the error that a problem document (RFC 9457) stands for."""
    body = response.json()
    code, detail = str(body.get("code", "")), str(body.get("detail") or f"the server answers {response.status}")
    text = detail[:MAX_TEXT_LENGTH] + _describe_field_errors(body.get("errors"), detail)
    if code in _ERROR_TYPES:
        return _ERROR_TYPES[code](text)
    if response.status >= 500:
        return Unavailable(f"{text} (request {str(body.get('request_id', ''))[:100]})")
    return MCPistError(text)


def _describe_field_errors(errors: Any, told: str) -> str:
    """Describe what is wrong with each field of the request, unless that is `told` already."""
    if not isinstance(errors, list):
        return ""
    entries = cast("list[Any]", errors)
    objects = [cast("dict[str, Any]", entry) for entry in entries[:MAX_FIELD_ERRORS] if isinstance(entry, dict)]
    texts = [f"{one.get('field')}: {one.get('problem')}" for one in objects if str(one.get("problem")) not in told]
    return f" ({'; '.join(texts)[:MAX_TEXT_LENGTH]})" if texts else ""
