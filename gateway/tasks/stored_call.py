"""Stored forms of a job's call and of its answer. The queue seals both."""

from collections.abc import Sequence
from typing import Any

import msgspec
import orjson

from gateway.mcp.request_context import AskedQuestion, GivenResponse, Params, Result
from jobs.job import ToolNames


class StoredCall(msgspec.Struct, frozen=True, eq=False):
    """A `tools/call` as its job runs it. `name` and `arguments` are the client's; `short_text` and `max_tokens`: see
    :class:`gateway.mcp.request_context.RequestContext`.

    `capabilities` are those of a client that waits and can be asked something; None where nobody does. `responses` are
    its answers to questions that were asked before. `may_answer`: it can be asked while the job is a task."""

    name: str
    arguments: Params
    tools: ToolNames
    short_text: bool = False
    client_name: str = ""
    trace: str = ""
    max_tokens: int = 0
    capabilities: dict[str, Any] | None = None
    responses: dict[str, GivenResponse] = {}
    may_answer: bool = False


class StoredAnswer(msgspec.Struct, frozen=True, eq=False):
    """The result of a `tools/call`, byte for byte, and the tools that it shows something of. With `questions`, with
    which a job has ended before it changed anything, the call is to be made again, with their answers."""

    tools: ToolNames
    result: msgspec.Raw
    questions: tuple[AskedQuestion, ...] = ()

    def build_result(self) -> Result:
        """Build the result anew: each of its members is as it was."""
        members = msgspec.json.decode(self.result, type=dict[str, msgspec.Raw])
        return {name: orjson.Fragment(bytes(value)) for name, value in members.items()}


_decode_call = msgspec.json.Decoder(StoredCall).decode
_decode_answer = msgspec.json.Decoder(StoredAnswer).decode


def encode_call(call: StoredCall) -> bytes:
    """Encode a call for its job."""
    return orjson.dumps({field: getattr(call, field) for field in call.__struct_fields__})


def decode_call(stored: bytes) -> StoredCall:
    """Decode what :func:`encode_call` has encoded.

    Raises:
        msgspec.DecodeError: another version of the product has encoded it otherwise.
    """
    return _decode_call(stored)


def is_same_call(stored: bytes, asked: bytes) -> bool:
    """Check whether a job was made by the call `asked`. Answers that its task was given since count for nothing."""
    if stored == asked:
        return True
    try:
        before, now = decode_call(stored), decode_call(asked)
    except msgspec.DecodeError:
        return False
    responses = {key: before.responses[key] for key in now.responses if key in before.responses}
    return encode_call(msgspec.structs.replace(before, responses=responses)) == encode_call(now)


def encode_answer(tools: ToolNames, result: Result, questions: Sequence[AskedQuestion] = ()) -> bytes:
    """Encode the answer of a call for the queue."""
    return orjson.dumps({"tools": tools, "result": result, "questions": list(questions)})


def decode_answer(stored: bytes) -> StoredAnswer:
    """Decode what :func:`encode_answer` has encoded.

    Raises:
        msgspec.DecodeError: another version of the product has encoded it otherwise.
    """
    return _decode_answer(stored)
