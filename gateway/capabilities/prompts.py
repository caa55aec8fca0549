"""Handlers of prompts/list and prompts/get ([2025-11-25] Prompts)."""

from typing import Any, cast

from gateway.capabilities.content import build_block
from gateway.capabilities.paging import ListPages
from gateway.capabilities.reading import CapabilityReader, Interrupted
from gateway.catalogue import CataloguePrompt
from gateway.icons import build_icons
from gateway.mcp.jsonrpc import INVALID_PARAMS
from gateway.mcp.request_context import Handler, Params, ProtocolError, RequestContext, Result
from gateway.sieve.sieve import Sieve
from gateway.tool_runner import ToolRunner
from modules.kit import PromptMessages

LOOKUP_KIND = "prompt"
MAX_ARGUMENT_LENGTH = 10_000
MAX_NAME_LENGTH = 200


class PromptMethods:
    """The prompts of a caller, listed and filled in."""

    def __init__(self, sieve: Sieve, runner: ToolRunner, pages: ListPages) -> None:
        self._pages = pages
        self._sieve = sieve
        self._reader = CapabilityReader(runner)

    def get_handlers(self) -> dict[str, Handler]:
        """Return the handlers by method."""
        return {"prompts/list": self._list_prompts, "prompts/get": self._get_prompt}

    async def _list_prompts(self, request: RequestContext, params: Params) -> Result:
        prompts = sorted(self._sieve.get_view(request.caller).prompts.values(), key=_get_name)
        page, next_cursor = self._pages.build_page(request.caller, "prompts/list", prompts, _get_name, params)
        return {"prompts": [_describe(one) for one in page], **next_cursor}

    async def _get_prompt(self, request: RequestContext, params: Params) -> Result:
        """Fill in a prompt. One that is hidden is as if made up.

        Raises:
            ProtocolError: there is none with this name, an argument is wrong, or it cannot be filled in now.
        """
        name = params.get("name")
        if type(name) is not str or not 0 < len(name) <= MAX_NAME_LENGTH:
            raise ProtocolError(INVALID_PARAMS, "Invalid params: name must be the name of a prompt")
        arguments = _parse_arguments(params.get("arguments"))
        prompt = self._sieve.get_view(request.caller).prompts.get(name)
        if prompt is None:
            await self._reader.record_missing(request, LOOKUP_KIND, name)
            raise ProtocolError(INVALID_PARAMS, "Unknown prompt; prompts/list names those that you can use")
        _check_arguments(prompt, arguments)
        try:
            filled = cast("PromptMessages", await self._reader.read(request, prompt.tool, arguments))
        except Interrupted as interrupted:
            return interrupted.result
        is_untrusted = prompt.tool.owner.shows_others_texts
        messages = [
            {"role": one.role, "content": build_block(one.content, is_untrusted=is_untrusted)}
            for one in filled.messages
        ]
        return {"description": prompt.prompt.description, "messages": messages}


def _parse_arguments(value: Any) -> dict[str, str]:
    """Parse the arguments of a prompt, all of which are texts.

    Raises:
        ProtocolError: -32602.
    """
    if value is None:
        return {}
    if type(value) is not dict:
        raise ProtocolError(INVALID_PARAMS, "Invalid params: arguments must be an object")
    arguments = cast("dict[str, Any]", value)
    for name, text in arguments.items():
        if type(text) is not str or len(text) > MAX_ARGUMENT_LENGTH:
            shown = name[:100]
            limit = f"a text of at most {MAX_ARGUMENT_LENGTH} characters"
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: arguments.{shown} must be {limit}")
    return arguments


def _check_arguments(prompt: CataloguePrompt, arguments: dict[str, str]) -> None:
    """Raises: ProtocolError: -32602 a required argument is missing, or one is unknown ([2025-11-25] Prompts, Error
    Handling)."""
    fields = prompt.prompt.arguments.model_fields
    missing = [name for name, field in fields.items() if field.is_required() and name not in arguments]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: {', '.join(missing)} is missing")
    if arguments.keys() - fields.keys():
        known = ", ".join(fields) or "none"
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: an argument is unknown; known are: {known}")


def _get_name(one: CataloguePrompt) -> str:
    return one.prompt.name


def _describe(one: CataloguePrompt) -> dict[str, Any]:
    arguments = [
        {
            "name": name,
            "title": name.replace("_", " ").capitalize(),
            "description": field.description or "",
            "required": field.is_required(),
        }
        for name, field in one.prompt.arguments.model_fields.items()
    ]
    head = {"name": one.prompt.name, "title": one.prompt.title, "description": one.prompt.description}
    return head | ({"arguments": arguments} if arguments else {}) | build_icons(one.tool.owner.icon)
