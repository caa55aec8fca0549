"""Handler of completion/complete: values for the arguments of prompts and the variables of resources' URIs
([2025-11-25] Completion)."""

from collections.abc import Sequence
from typing import Any, cast

from gateway.capabilities.reading import CapabilityReader, Interrupted
from gateway.capability_tools import CompletionValues
from gateway.catalogue import CataloguePrompt, CatalogueResource
from gateway.mcp.jsonrpc import INVALID_PARAMS
from gateway.mcp.request_context import Handler, Params, ProtocolError, RequestContext, Result
from gateway.sieve.sieve import Sieve, SieveView
from gateway.tool_runner import ToolRunner
from gateway.uri_templates import MAX_URI_LENGTH

MAX_VALUES = 100
"""Of one answer, by the specification."""
MAX_VALUE_LENGTH = 1_000
MAX_KNOWN_ARGUMENTS = 50
REFERENCES = {"ref/prompt": ("prompt", "name"), "ref/resource": ("resource", "uri")}
"""Kinds of what is completed and the fields that name it, by the types of references."""


class CompletionMethods:
    """Completes what a caller types, for prompts and resources that exist for them."""

    def __init__(self, sieve: Sieve, runner: ToolRunner) -> None:
        self._sieve = sieve
        self._reader = CapabilityReader(runner)

    def get_handlers(self) -> dict[str, Handler]:
        """Return the handlers by method."""
        return {"completion/complete": self._complete}

    async def _complete(self, request: RequestContext, params: Params) -> Result:
        """Complete one argument.

        Raises:
            ProtocolError: -32602 there is no such prompt, template or argument.
        """
        kind, name = _parse_reference(params.get("ref"))
        argument, value = _parse_argument(params.get("argument"))
        known = _parse_known(params.get("context"))
        owner = _find_owner(self._sieve.get_view(request.caller), kind, name)
        if owner is None:
            await self._reader.record_missing(request, kind, name)
            raise ProtocolError(INVALID_PARAMS, f"Unknown {kind}")
        properties = owner.tool.input_schema.get("properties", {})
        if argument not in properties:
            raise ProtocolError(INVALID_PARAMS, f"Unknown argument; known are: {', '.join(properties) or 'none'}")
        options = _list_options(properties[argument], owner.tool.input_schema)
        if options is not None:
            values = [option for option in options if option.casefold().startswith(value.casefold())]
        else:
            values = await self._ask(request, owner, argument, value, known)
        shown = values[:MAX_VALUES]
        return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}

    async def _ask(
        self,
        request: RequestContext,
        owner: CatalogueResource | CataloguePrompt,
        argument: str,
        value: str,
        known: dict[str, str],
    ) -> Sequence[str]:
        """Ask the module; a person who types gets no errors but an empty list where it fails."""
        declared = owner.resource if isinstance(owner, CatalogueResource) else owner.prompt
        if argument not in declared.complete:
            return ()
        params = {"argument": argument, "value": value, "known": known}
        try:
            read = await self._reader.read(request, owner.completer, params)
        except (Interrupted, ProtocolError):
            return ()
        return cast("CompletionValues", read).values


def _find_owner(view: SieveView, kind: str, name: str) -> CatalogueResource | CataloguePrompt | None:
    if kind == "prompt":
        return view.prompts.get(name)
    return next((one for one in view.resources if name in one.resource.uris), None)


def _parse_reference(ref: Any) -> tuple[str, str]:
    """Parse what is completed: its kind, and its name or URI template."""
    given = cast("dict[str, Any]", ref) if type(ref) is dict else {}
    of_type = given.get("type")
    if type(of_type) is not str or of_type not in REFERENCES:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: ref.type must be {' or '.join(REFERENCES)}")
    kind, field = REFERENCES[of_type]
    name = given.get(field)
    if type(name) is not str or not 0 < len(name) <= MAX_URI_LENGTH:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: ref.{field} must be a text")
    return kind, name


def _parse_argument(argument: Any) -> tuple[str, str]:
    given = cast("dict[str, Any]", argument) if type(argument) is dict else {}
    name, value = given.get("name"), given.get("value")
    if type(name) is not str or type(value) is not str or len(value) > MAX_VALUE_LENGTH:
        limit = f"argument must have a name and a value of at most {MAX_VALUE_LENGTH} characters"
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: {limit}")
    return name, value


def _parse_known(context: Any) -> dict[str, str]:
    """Parse the arguments that the person has filled in before ([2025-06-18] Completion, context)."""
    given = cast("dict[str, Any]", context).get("arguments") if type(context) is dict else None
    if given is None:
        return {}
    if type(given) is not dict or not _are_short_texts(cast("dict[str, Any]", given)):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: context.arguments must be an object of short texts")
    return cast("dict[str, str]", given)


def _are_short_texts(arguments: dict[str, Any]) -> bool:
    return len(arguments) <= MAX_KNOWN_ARGUMENTS and all(
        type(text) is str and len(text) <= MAX_VALUE_LENGTH and len(name) <= MAX_VALUE_LENGTH
        for name, text in arguments.items()
    )


def _list_options(schema: dict[str, Any], whole: Any) -> list[str] | None:
    """List the values of an enumeration of texts; None for any other argument."""
    for part in (schema, *schema.get("anyOf", ())):
        if "$ref" in part:
            part = whole.get("$defs", {}).get(part["$ref"].rsplit("/", 1)[-1], {})
        if "enum" in part:
            return [option for option in part["enum"] if isinstance(option, str)]
        if isinstance(part.get("const"), str):
            return [part["const"]]
    return None
