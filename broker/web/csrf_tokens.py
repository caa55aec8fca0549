"""CSRF tokens of forms: bound to the session and to exactly the content that the form states."""

import hashlib
import hmac

from core.secret import Secret


def create_form_token(session: Secret, content: str) -> str:
    """A token for `content`. Its key is the session's own secret, so nothing has to be kept and no process differs."""
    return hmac.new(session.reveal().encode(), f"form\n{content}".encode(), hashlib.sha256).hexdigest()


def is_valid_form_token(session: Secret, content: str, given: str) -> bool:
    """Check whether the token `given` was made for this session and `content`."""
    return hmac.compare_digest(create_form_token(session, content).encode(), given.encode())
