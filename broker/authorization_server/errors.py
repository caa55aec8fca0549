"""Errors of the authorization server, with the codes and descriptions that clients receive."""

import re
from collections.abc import Mapping

_NOT_PRINTED = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")


class OAuthError(Exception):
    """A refusal by RFC 6749 §4.1.2.1 or §5.2: `code` for the client's program, `description` for its developer.

    The description holds the characters that §5.2 allows and no others: one from outside becomes ``?``, so no text
    that a client sent can end a header or an element. `status` and `headers` are for answers that are not redirects.
    """

    def __init__(
        self, code: str, description: str = "", status: int = 400, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(code)
        self.code = code
        self.description = _NOT_PRINTED.sub("?", description[:400])
        self.status = status
        self.headers: Mapping[str, str] = dict(headers or {})

    def as_json(self) -> dict[str, str]:
        """The body of the answer."""
        return {"error": self.code} | ({"error_description": self.description} if self.description else {})
