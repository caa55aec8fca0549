"""Stored forms of a job's call and of its answer. The queue seals both."""

import msgspec
import orjson

from gateway.mcp.request_context import ConfirmationQuestion, Params, Result
from jobs.job import ToolNames


class StoredCall(msgspec.Struct, frozen=True, eq=False):
    """A `tools/call` as its job runs it. `name` and `arguments` are the client's; `short_text` and `max_tokens`: see
    :class:`gateway.mcp.request_context.RequestContext`.

    `may_ask`: somebody waits who can ask the person. `answered` is the digest (hexadecimal) of a question that they
    were asked before, and `outcome` what they said. `may_answer`: they can be asked while the job is a task."""

    name: str
    arguments: Params
    tools: ToolNames
    short_text: bool = False
    client_name: str = ""
    trace: str = ""
    max_tokens: int = 0
    may_ask: bool = False
    answered: str = ""
    outcome: str = ""
    may_answer: bool = False


class StoredQuestion(msgspec.Struct, frozen=True):
    """A question to the person, with which a job has ended before it changed anything
    (:class:`gateway.mcp.request_context.ConfirmationQuestion`)."""

    message: str
    label: str
    instead: str

    def build_question(self) -> ConfirmationQuestion:
        """Build the question anew."""
        return ConfirmationQuestion(self.message, self.label, self.instead)


class StoredAnswer(msgspec.Struct, frozen=True, eq=False):
    """The result of a `tools/call`, byte for byte, and the tools that it shows something of. With a `question` the call
    is to be made again, with the person's answer."""

    tools: ToolNames
    result: msgspec.Raw
    question: StoredQuestion | None = None

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


def encode_answer(tools: ToolNames, result: Result, question: ConfirmationQuestion | None = None) -> bytes:
    """Encode the answer of a call for the queue."""
    return orjson.dumps({"tools": tools, "result": result, "question": question})


def decode_answer(stored: bytes) -> StoredAnswer:
    """Decode what :func:`encode_answer` has encoded.

    Raises:
        msgspec.DecodeError: another version of the product has encoded it otherwise.
    """
    return _decode_answer(stored)
