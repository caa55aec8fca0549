"""Asking the person behind a client to open a page of ours (URL elicitation), without a channel back.

[2026-07-28] a call answers `input_required` and is sent again with what the person said; [2025-11-25] it fails with
-32042; other clients are not asked, and read the link in the error's text. Neither way keeps anything here: what has to
come back is sealed into `requestState`, and a handshake client's one capability that matters is told in its session id.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import orjson

from core.caller import Caller
from core.secret import Secret
from gateway.mcp.context import AskByUrl, Params, ProtocolError, Result, UrlAsk
from gateway.mcp.envelope import INVALID_PARAMS, Message
from gateway.mcp.era import meta_of, negotiated
from gateway.mcp.headers import SESSION, Headers
from gateway.mcp.revisions import CAPABILITIES_KEY, NEWEST_HANDSHAKE, Revision

URL_ELICITATION_REQUIRED = -32042
ASKED_SECONDS = 600
MOST_STATE = 200
SESSION_PREFIX = "url-"

_FORMAT = b"\x01"
_MAC = 32
_REFUSED = "Invalid params: requestState is not of this request, or older than ten minutes; send the call without it"


class Elicitation:
    """`key` is the deployment's, the same for all gateways; `clock` gives Unix seconds."""

    def __init__(self, key: Secret, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock

    def way(self, revision: Revision, message: Message, caller: Caller, headers: Headers) -> AskByUrl | None:
        """How the client of this call can be asked; None where it cannot be, or where the person has declined.

        Raises:
            ProtocolError: `requestState` is not what we gave for this call.
        """
        if message.method != "tools/call" or not revision.asks_by_url:
            return None
        if not revision.modern:
            return partial(self._error, caller) if opens_urls_by(headers) else None
        if "requestState" in message.params:
            self._check_state(message.params, caller)
            if _declined(message.params.get("inputResponses")):
                return None
        if not opens_urls(meta_of(message.params).get(CAPABILITIES_KEY)):
            return None
        return partial(self._input_required, message.params, caller)

    def _input_required(self, params: Params, caller: Caller, ask: UrlAsk) -> Result:
        expires = int(self._clock()) + ASKED_SECONDS
        sealed = _FORMAT + expires.to_bytes(8, "big") + self._mac(params, caller, expires)
        asked = {"method": "elicitation/create", "params": {"mode": "url", "message": ask.message, "url": ask.url}}
        return {
            "resultType": "input_required",
            "inputRequests": {ask.key: asked},
            "requestState": base64.urlsafe_b64encode(sealed).decode(),
        }

    def _error(self, caller: Caller, ask: UrlAsk) -> Result:
        """Raises: ProtocolError: always; [2025-11-25] Elicitation, URL Elicitation Required."""
        asked = {"mode": "url", "elicitationId": self.id(caller, ask.key), "url": ask.url, "message": ask.message}
        raise ProtocolError(URL_ELICITATION_REQUIRED, ask.message, {"elicitations": [asked]})

    def id(self, caller: Caller, key: str) -> str:
        """The elicitation of this user for this key: any gateway finds the same one."""
        named = caller.tenant_id.bytes + caller.credential.user_id.bytes + key.encode()
        return hashlib.blake2b(named, digest_size=16, key=self._secret(), person=b"mcpist-elicit-id").hexdigest()

    def _check_state(self, params: Params, caller: Caller) -> None:
        expires, mac = _opened(params["requestState"])
        if not hmac.compare_digest(mac, self._mac(params, caller, expires)) or expires < self._clock():
            raise ProtocolError(INVALID_PARAMS, _REFUSED)

    def _mac(self, params: Params, caller: Caller, expires: int) -> bytes:
        """Binds to the user, their credential and the call itself. Used twice, it gives what one use does: each time
        the call is checked and run like any other."""
        credential = caller.credential
        call = orjson.dumps([params.get("name"), params.get("arguments")], option=orjson.OPT_SORT_KEYS)
        bound = [str(credential.tenant_id), str(credential.user_id), credential.id, expires]
        text = orjson.dumps([*bound, hashlib.sha256(call).hexdigest()])
        return hashlib.blake2b(text, digest_size=_MAC, key=self._secret(), person=b"mcpist-req-state").digest()

    def _secret(self) -> bytes:
        return self._key.reveal().encode()


def session_id(message: Message) -> bytes | None:
    """The session id of a handshake whose client can open URLs: it says this to every gateway, and nothing else.

    There is no session behind it; one that somebody makes up says the same about them.
    """
    if message.method != "initialize" or negotiated(message.params.get("protocolVersion")) is not NEWEST_HANDSHAKE:
        return None
    if not opens_urls(message.params.get("capabilities")):
        return None
    return f"{SESSION_PREFIX}{secrets.token_hex(16)}".encode()


def opens_urls(capabilities: object) -> bool:
    """Whether a client's capabilities include elicitation by URL; ``{}`` means forms only."""
    return type(_field(_field(capabilities, "elicitation"), "url")) is dict


def opens_urls_by(headers: Headers) -> bool:
    """Whether a request has the session id of a handshake client that can open URLs."""
    return SESSION in headers.values and (headers.text(SESSION) or "").startswith(SESSION_PREFIX)


def _declined(responses: object) -> bool:
    """Whether the person does not want to: then they are not asked again, and the model reads the error."""
    if type(responses) is not dict:
        return False
    answers = cast("Mapping[str, Any]", responses).values()
    return any(_field(answer, "action") in ("decline", "cancel") for answer in answers)


def _field(value: object, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if type(value) is dict else None


def _opened(state: object) -> tuple[int, bytes]:
    if isinstance(state, str) and len(state) <= MOST_STATE and state.isascii():
        try:
            plain = base64.b64decode(state, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            plain = b""
        if len(plain) == 9 + _MAC and plain.startswith(_FORMAT) and base64.urlsafe_b64encode(plain) == state.encode():
            return int.from_bytes(plain[1:9], "big"), plain[9:]
    raise ProtocolError(INVALID_PARAMS, _REFUSED)
