"""What a job keeps of a call, and of its answer. The queue seals both."""

import msgspec
import orjson

from gateway.mcp.request_context import Params, Result

ToolNames = tuple[tuple[str, str], ...]
"""(module, tool) of every tool that a job runs, by the tools' own names."""


class StoredCall(msgspec.Struct, frozen=True, eq=False):
    """A `tools/call` as its job runs it. `name` and `arguments` are the client's; `short_text`: see
    :class:`gateway.mcp.request_context.RequestContext`."""

    name: str
    arguments: Params
    tools: ToolNames
    short_text: bool = False
    client_name: str = ""
    trace: str = ""


class StoredAnswer(msgspec.Struct, frozen=True, eq=False):
    """The result of a `tools/call`, byte for byte, and the tools that it shows something of."""

    tools: ToolNames
    result: msgspec.Raw

    def build_result(self) -> Result:
        """Build the result anew: each of its members is as it was."""
        members = msgspec.json.decode(self.result, type=dict[str, msgspec.Raw])
        return {name: orjson.Fragment(bytes(value)) for name, value in members.items()}

    @property
    def is_error(self) -> bool:
        """Whether the result is the error of a tool."""
        return msgspec.json.decode(self.result, type=_ErrorMark).isError


class _ErrorMark(msgspec.Struct):
    isError: bool = False  # noqa: N815 - the name is MCP's


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


def encode_answer(tools: ToolNames, result: Result) -> bytes:
    """Encode the answer of a call for the queue."""
    return b'{"tools":%b,"result":%b}' % (orjson.dumps(tools), orjson.dumps(result))


def decode_answer(stored: bytes) -> StoredAnswer:
    """Decode what :func:`encode_answer` has encoded.

    Raises:
        msgspec.DecodeError: another version of the product has encoded it otherwise.
    """
    return _decode_answer(stored)
