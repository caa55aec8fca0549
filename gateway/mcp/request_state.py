"""`requestState` of a call that waits for the person or client behind it ([2026-07-28] Multi Round-Trip Requests).

Nothing is kept here: what has to come back is in the state, under a MAC of the deployment's own key.
"""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec
import orjson

from core.caller import Caller
from core.secret import Secret
from gateway.mcp.jsonrpc import INVALID_PARAMS
from gateway.mcp.request_context import GivenResponse, Params, ProtocolError

STATE_SECONDS = 600
MAX_STATE_LENGTH = 64 * 1024
"""Characters; what is longer are answers of a model."""

_MAC = 32
_INVALID_STATE = (
    "Invalid params: requestState is not of this request, or older than ten minutes; send the call without it"
)
_TOO_LONG = "the answers to earlier questions of this call are too long to go with it; answer them in fewer words"


class RequestState(NamedTuple):
    """What a state says: whether the person was shown a page to open, the digests of the questions that the client was
    asked, and what it has answered before; both by the key of a question."""

    is_page: bool
    asked: Mapping[str, str]
    given: Mapping[str, GivenResponse]


class _StoredState(msgspec.Struct, array_like=True):
    expires: int
    is_page: bool
    asked: dict[str, str]
    given: dict[str, GivenResponse]


_decode_stored = msgspec.json.Decoder(_StoredState).decode


class RequestStateSealer:
    """`key` is the deployment's, the same for all gateways; `clock` gives Unix seconds."""

    def __init__(self, key: Secret, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock

    def seal(self, params: Params, caller: Caller, state: RequestState) -> str:
        """Seal a state that is good for this call of this caller, for ten minutes.

        Raises:
            ProtocolError: it is too long.
        """
        expires = int(self._clock()) + STATE_SECONDS
        payload = orjson.dumps([expires, *state])
        sealed = base64.urlsafe_b64encode(self._compute_mac(params, caller, payload) + payload).decode()
        if len(sealed) > MAX_STATE_LENGTH:
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: {_TOO_LONG}")
        return sealed

    def open(self, params: Params, caller: Caller) -> RequestState:
        """Open the state that a call brings.

        Raises:
            ProtocolError: it is not what we gave for this call, or too old.
        """
        sealed = _decode_text(params["requestState"])
        mac, payload = sealed[:_MAC], sealed[_MAC:]
        if not hmac.compare_digest(mac, self._compute_mac(params, caller, payload)):
            raise ProtocolError(INVALID_PARAMS, _INVALID_STATE)
        stored = _decode_stored(payload)
        if stored.expires < self._clock():
            raise ProtocolError(INVALID_PARAMS, _INVALID_STATE)
        return RequestState(stored.is_page, stored.asked, stored.given)

    def _compute_mac(self, params: Params, caller: Caller, payload: bytes) -> bytes:
        """Binds to the user, their credential, the call itself and what was asked. Used twice, it gives what one use
        does: each time the call is checked and run like any other."""
        credential = caller.credential
        call = orjson.dumps([params.get(key) for key in ("name", "uri", "arguments")], option=orjson.OPT_SORT_KEYS)
        binding = [str(credential.tenant_id), str(credential.user_id), credential.id, hashlib.sha256(call).hexdigest()]
        text = orjson.dumps(binding) + payload
        key = self._key.reveal().encode()
        return hashlib.blake2b(text, digest_size=_MAC, key=key, person=b"mcpist-req-state").digest()


def _decode_text(state: object) -> bytes:
    """Decode the text of a state, of which nothing is checked yet."""
    if isinstance(state, str) and len(state) <= MAX_STATE_LENGTH and state.isascii():
        try:
            decoded = base64.b64decode(state, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            decoded = b""
        if len(decoded) > _MAC and base64.urlsafe_b64encode(decoded) == state.encode():
            return decoded
    raise ProtocolError(INVALID_PARAMS, _INVALID_STATE)
