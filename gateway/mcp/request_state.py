"""`requestState` of a call that waits for the person behind the client ([2026-07-28] Multi Round-Trip Requests).

Nothing is kept here: what has to come back is in the state, under a MAC of the deployment's own key.
"""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Callable
from typing import NamedTuple

import orjson

from core.caller import Caller
from core.secret import Secret
from gateway.mcp.jsonrpc import INVALID_PARAMS
from gateway.mcp.request_context import Params, ProtocolError

STATE_SECONDS = 600
MAX_STATE_LENGTH = 200
DIGEST = 16
PAGE = b"\x01"
FORM = b"\x02"
"""What the person was shown: a page to open, or a form to fill in."""

_MAC = 32
_INVALID_STATE = (
    "Invalid params: requestState is not of this request, or older than ten minutes; send the call without it"
)


class RequestState(NamedTuple):
    """What a state says: the `kind` of what the person was shown, and the digest of the question on a form."""

    kind: bytes
    digest: bytes


class RequestStateSealer:
    """`key` is the deployment's, the same for all gateways; `clock` gives Unix seconds."""

    def __init__(self, key: Secret, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock

    def seal(self, params: Params, caller: Caller, state: RequestState) -> str:
        """Seal a state that is good for this call of this caller, for ten minutes."""
        expires = int(self._clock()) + STATE_SECONDS
        mac = self._compute_mac(params, caller, expires, state)
        sealed = state.kind + expires.to_bytes(8, "big") + state.digest + mac
        return base64.urlsafe_b64encode(sealed).decode()

    def open(self, params: Params, caller: Caller) -> RequestState:
        """Open the state that a call brings.

        Raises:
            ProtocolError: it is not what we gave for this call, or too old.
        """
        expires, state, mac = _decode_state(params["requestState"])
        if not hmac.compare_digest(mac, self._compute_mac(params, caller, expires, state)) or expires < self._clock():
            raise ProtocolError(INVALID_PARAMS, _INVALID_STATE)
        return state

    def _compute_mac(self, params: Params, caller: Caller, expires: int, state: RequestState) -> bytes:
        """Binds to the user, their credential, the call itself and what was asked. Used twice, it gives what one use
        does: each time the call is checked and run like any other."""
        credential = caller.credential
        call = orjson.dumps([params.get(key) for key in ("name", "uri", "arguments")], option=orjson.OPT_SORT_KEYS)
        asked = (state.kind + state.digest).hex()
        binding = [str(credential.tenant_id), str(credential.user_id), credential.id, expires, asked]
        text = orjson.dumps([*binding, hashlib.sha256(call).hexdigest()])
        key = self._key.reveal().encode()
        return hashlib.blake2b(text, digest_size=_MAC, key=key, person=b"mcpist-req-state").digest()


def _decode_state(state: object) -> tuple[int, RequestState, bytes]:
    """Decode expiry, state and MAC, none of which is checked yet."""
    if isinstance(state, str) and len(state) <= MAX_STATE_LENGTH and state.isascii():
        try:
            decoded = base64.b64decode(state, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            decoded = b""
        if len(decoded) == 9 + DIGEST + _MAC and base64.urlsafe_b64encode(decoded) == state.encode():
            asked = RequestState(decoded[:1], decoded[9 : 9 + DIGEST])
            return int.from_bytes(decoded[1:9], "big"), asked, decoded[9 + DIGEST :]
    raise ProtocolError(INVALID_PARAMS, _INVALID_STATE)
