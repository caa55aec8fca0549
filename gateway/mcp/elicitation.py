"""Asking the person behind a client to open a page of ours (URL elicitation), without a channel back.

[2026-07-28] a call answers `input_required` and is sent again with what the person said; [2025-11-25] it fails with
-32042; other clients are not asked, and read the link in the error's text. Neither way keeps anything here: what has to
come back is sealed into `requestState`, and a handshake client's one capability that matters is part of its session id.
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
from gateway.mcp.jsonrpc import INVALID_PARAMS, JsonRpcMessage
from gateway.mcp.request_context import ElicitUrl, Params, ProtocolError, Result, UrlElicitation
from gateway.mcp.request_headers import SESSION_HEADER, RequestHeaders
from gateway.mcp.revisions import CAPABILITIES_KEY, NEWEST_HANDSHAKE, Revision
from gateway.mcp.version_negotiation import negotiate_revision

URL_ELICITATION_REQUIRED = -32042
STATE_SECONDS = 600
MAX_STATE_LENGTH = 200
SESSION_PREFIX = "url-"

_FORMAT = b"\x01"
_MAC = 32
_INVALID_STATE = (
    "Invalid params: requestState is not of this request, or older than ten minutes; send the call without it"
)


class UrlElicitor:
    """`key` is the deployment's, the same for all gateways; `clock` gives Unix seconds."""

    def __init__(self, key: Secret, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock

    def choose_elicitation(
        self, revision: Revision, message: JsonRpcMessage, caller: Caller, headers: RequestHeaders
    ) -> ElicitUrl | None:
        """Choose how to ask the client of this call; None where it cannot be asked, or the user has declined.

        Raises:
            ProtocolError: `requestState` is not what we gave for this call.
        """
        if message.method != "tools/call" or not revision.has_url_elicitation:
            return None
        if not revision.modern:
            return partial(self._raise_elicitation_required, caller) if has_url_session(headers) else None
        if "requestState" in message.params:
            self._check_state(message.params, caller)
            if _is_declined(message.params.get("inputResponses")):
                return None
        if not supports_url_elicitation(message.meta.get(CAPABILITIES_KEY)):
            return None
        return partial(self._build_input_required, message.params, caller)

    def _build_input_required(self, params: Params, caller: Caller, elicitation: UrlElicitation) -> Result:
        expires = int(self._clock()) + STATE_SECONDS
        state = _FORMAT + expires.to_bytes(8, "big") + self._compute_mac(params, caller, expires)
        input_request = {
            "method": "elicitation/create",
            "params": {"mode": "url", "message": elicitation.message, "url": elicitation.url},
        }
        return {
            "resultType": "input_required",
            "inputRequests": {elicitation.key: input_request},
            "requestState": base64.urlsafe_b64encode(state).decode(),
        }

    def _raise_elicitation_required(self, caller: Caller, elicitation: UrlElicitation) -> Result:
        """Raises: ProtocolError: always; [2025-11-25] Elicitation, URL Elicitation Required."""
        entry = {
            "mode": "url",
            "elicitationId": self.compute_elicitation_id(caller, elicitation.key),
            "url": elicitation.url,
            "message": elicitation.message,
        }
        raise ProtocolError(URL_ELICITATION_REQUIRED, elicitation.message, {"elicitations": [entry]})

    def compute_elicitation_id(self, caller: Caller, key: str) -> str:
        """Compute the elicitation of this user for this key: any gateway finds the same one."""
        identity = caller.tenant_id.bytes + caller.credential.user_id.bytes + key.encode()
        return hashlib.blake2b(identity, digest_size=16, key=self._get_key(), person=b"mcpist-elicit-id").hexdigest()

    def _check_state(self, params: Params, caller: Caller) -> None:
        expires, mac = _decode_state(params["requestState"])
        if not hmac.compare_digest(mac, self._compute_mac(params, caller, expires)) or expires < self._clock():
            raise ProtocolError(INVALID_PARAMS, _INVALID_STATE)

    def _compute_mac(self, params: Params, caller: Caller, expires: int) -> bytes:
        """Binds to the user, their credential and the call itself. Used twice, it gives what one use does: each time
        the call is checked and run like any other."""
        credential = caller.credential
        call = orjson.dumps([params.get("name"), params.get("arguments")], option=orjson.OPT_SORT_KEYS)
        binding = [str(credential.tenant_id), str(credential.user_id), credential.id, expires]
        text = orjson.dumps([*binding, hashlib.sha256(call).hexdigest()])
        return hashlib.blake2b(text, digest_size=_MAC, key=self._get_key(), person=b"mcpist-req-state").digest()

    def _get_key(self) -> bytes:
        return self._key.reveal().encode()


def create_session_id(message: JsonRpcMessage) -> bytes | None:
    """Create the session id of a handshake whose client can open URLs: it says this to every gateway, and nothing else.

    There is no session behind it; a forged one says no more than a real one.
    """
    if (
        message.method != "initialize"
        or negotiate_revision(message.params.get("protocolVersion")) is not NEWEST_HANDSHAKE
    ):
        return None
    if not supports_url_elicitation(message.params.get("capabilities")):
        return None
    return f"{SESSION_PREFIX}{secrets.token_hex(16)}".encode()


def supports_url_elicitation(capabilities: object) -> bool:
    """Check whether a client's capabilities include elicitation by URL; ``{}`` means forms only."""
    return type(_get_field(_get_field(capabilities, "elicitation"), "url")) is dict


def has_url_session(headers: RequestHeaders) -> bool:
    """Check whether a request has the session id of a handshake client that can open URLs."""
    return SESSION_HEADER in headers.values and (headers.get_text(SESSION_HEADER) or "").startswith(SESSION_PREFIX)


def _is_declined(responses: object) -> bool:
    """Check whether the user has declined: then they are not asked again, and the model reads the error."""
    if type(responses) is not dict:
        return False
    values = cast("Mapping[str, Any]", responses).values()
    return any(_get_field(response, "action") in ("decline", "cancel") for response in values)


def _get_field(value: object, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if type(value) is dict else None


def _decode_state(state: object) -> tuple[int, bytes]:
    if isinstance(state, str) and len(state) <= MAX_STATE_LENGTH and state.isascii():
        try:
            decoded = base64.b64decode(state, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            decoded = b""
        if (
            len(decoded) == 9 + _MAC
            and decoded.startswith(_FORMAT)
            and base64.urlsafe_b64encode(decoded) == state.encode()
        ):
            return int.from_bytes(decoded[1:9], "big"), decoded[9:]
    raise ProtocolError(INVALID_PARAMS, _INVALID_STATE)
