"""Asking the person behind a client to open a page of ours (URL elicitation), or the client something else, without a
channel back.

[2026-07-28] a call answers `input_required` and is sent again with what the person said; [2025-11-25] it fails with
-32042, for a page only; other clients are not asked, and read the link in the error's text. Neither way keeps anything
here: what has to come back is sealed into `requestState`, and a handshake client's one capability that matters is part
of its session id.
"""

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import msgspec

from core.caller import Caller
from core.secret import Secret
from gateway.mcp.client_questions import NO_CLIENT, CallQuestions, supports_questions
from gateway.mcp.jsonrpc import JsonRpcMessage
from gateway.mcp.request_context import (
    ClientQuestions,
    ElicitUrl,
    Params,
    ProtocolError,
    Result,
    UrlElicitation,
)
from gateway.mcp.request_headers import SESSION_HEADER, RequestHeaders
from gateway.mcp.request_state import RequestState, RequestStateSealer
from gateway.mcp.revisions import CAPABILITIES_KEY, NEWEST_HANDSHAKE, Revision
from gateway.mcp.version_negotiation import negotiate_revision

URL_ELICITATION_REQUIRED = -32042
SESSION_PREFIX = "url-"

_ASKING_METHODS = frozenset({"tools/call", "resources/read", "prompts/get"})
"""Requests that may ask the person behind the client ([2026-07-28] Multi Round-Trip Requests)."""


class Elicitation(msgspec.Struct, frozen=True, eq=False):
    """How the person behind one call can be asked; None in the ways in which they cannot, or do not want to be.
    `page_accepted`: the call comes back from a page, and the person may be on it now."""

    elicit_url: ElicitUrl | None = None
    questions: ClientQuestions | None = None
    page_accepted: bool = False


NO_ELICITATION = Elicitation()
UNABLE_CLIENT = Elicitation(None, NO_CLIENT)


class Elicitor:
    """`key` is the deployment's, the same for all gateways; `clock` gives Unix seconds."""

    def __init__(self, key: Secret, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._sealer = RequestStateSealer(key, clock)

    def choose_elicitation(
        self, revision: Revision, message: JsonRpcMessage, caller: Caller, headers: RequestHeaders
    ) -> Elicitation:
        """Choose how to ask the person behind this call.

        Raises:
            ProtocolError: `requestState` is not what we gave for this call.
        """
        if message.method not in _ASKING_METHODS or not revision.has_url_elicitation:
            return NO_ELICITATION
        if not revision.modern:
            if not has_url_session(headers):
                return NO_ELICITATION
            return Elicitation(partial(self._raise_elicitation_required, caller))
        return self._choose_modern_elicitation(message, caller)

    def _choose_modern_elicitation(self, message: JsonRpcMessage, caller: Caller) -> Elicitation:
        params, capabilities = message.params, message.meta[CAPABILITIES_KEY]
        if not capabilities and "requestState" not in params:
            return UNABLE_CLIENT
        state = self._sealer.open(params, caller) if "requestState" in params else None
        elicit_url, questions = None, NO_CLIENT
        if supports_questions(capabilities):
            questions = CallQuestions(self._sealer, params, caller, capabilities, state)
        if supports_url_elicitation(capabilities) and not (state is not None and _has_declined_page(state, params)):
            elicit_url = partial(self._build_input_required, params, caller, questions)
        return Elicitation(elicit_url, questions, elicit_url is not None and state is not None and state.is_page)

    def _build_input_required(
        self, params: Params, caller: Caller, questions: ClientQuestions, elicitation: UrlElicitation
    ) -> Result:
        input_request = {
            "method": "elicitation/create",
            "params": {"mode": "url", "message": elicitation.message, "url": elicitation.url},
        }
        page_state = RequestState(True, {}, questions.get_responses())
        return {
            "resultType": "input_required",
            "inputRequests": {elicitation.key: input_request},
            "requestState": self._sealer.seal(params, caller, page_state),
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


def _has_declined_page(state: RequestState, params: Params) -> bool:
    """Check whether the user has declined a page: then they are not asked again, and the model reads the error."""
    responses = params.get("inputResponses")
    if not state.is_page or type(responses) is not dict:
        return False
    given = cast("Mapping[str, Any]", responses).values()
    return any(_get_field(response, "action") in ("decline", "cancel") for response in given)


def _get_field(value: object, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if type(value) is dict else None
