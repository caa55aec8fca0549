"""Authentication errors, each of which the transport turns into an HTTP refusal."""

from typing import ClassVar

from core.errors import MCPistError


class Unauthenticated(MCPistError):
    """Raised where the credential authenticates no caller. Becomes HTTP 401 (RFC 6750 §3) with `challenge`, to which
    the transport adds the URL of the resource metadata (RFC 9728 §5.1)."""

    status: ClassVar[int] = 401
    code: ClassVar[str] = "unauthenticated"
    exit_code: ClassVar[int] = 3

    def __init__(self, challenge: str) -> None:
        super().__init__("Unauthorized")
        self.challenge = challenge


class InsufficientScope(MCPistError):
    """The caller may do this, but not with this token. Becomes HTTP 403 (RFC 6750 §3.1), as above."""

    status: ClassVar[int] = 403
    code: ClassVar[str] = "insufficient_scope"
    exit_code: ClassVar[int] = 3

    def __init__(self, challenge: str) -> None:
        super().__init__("insufficient_scope")
        self.challenge = challenge


class HttpRefusal(Exception):
    """Ends a request on the level of HTTP. `text` goes to the client as it is."""

    def __init__(self, status: int, text: str, *headers: tuple[bytes, bytes], as_rpc: bool = False) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers
        self.as_rpc = as_rpc


class ClientDisconnected(Exception):
    """The client closed the connection; there is no one to answer."""
