"""The handlers of tools/list and tools/call: ``(context, params) → result``; they know no HTTP and no revision."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from core.caller import Caller
from core.concurrency.lru_cache import LruCache
from core.known_clients import LEAST_RESULT_TOKENS
from core.permissions import Policy
from core.tool_exposure import META_VIEW, ToolExposure
from gateway.capabilities.paging import ListPages
from gateway.client_requests import build_client_request
from gateway.icons import build_icons
from gateway.lookup_recorder import MissingName
from gateway.mcp.request_context import Handler, Params, ProtocolError, RequestContext, Result
from gateway.meta_tools.batch.text_format import cut_text
from gateway.meta_tools.batch_tool import BatchTool
from gateway.meta_tools.definitions import build_definitions, build_instructions, build_plain_instructions
from gateway.meta_tools.get_module_schema import get_module_schema
from gateway.meta_tools.json_text import InvalidObjectText, parse_object
from gateway.meta_tools.meta_tool_arguments import MAX_NAME_LENGTH, InvalidMetaToolArguments, add_note, parse_arguments
from gateway.meta_tools.results import (
    TOOL_FAILED,
    build_encoded_result,
    build_error_result,
    build_value_result,
    encode_model,
)
from gateway.plain_view.plain_tools import MAX_LISTS, NO_PLAIN_TOOLS, PlainToolList, PlainTools
from gateway.results.budget import (
    DOCUMENT_TOKENS,
    TAKES_WHOLE_RESULTS,
    UNLIMITED_TOKENS,
    choose_budget,
    choose_document_budget,
    explain_invalid_max_tokens,
    fits_one_answer,
)
from gateway.results.kept_results import KeptResults
from gateway.results.limiter import ResultLimiter
from gateway.sieve.sieve import Sieve
from gateway.tasks.job_starter import JobStarter, build_call_work
from gateway.tool_runner import ToolRunner, build_failed_outcome
from gateway.vendor_connections import VendorConnections
from modules.kit import ContentResult

INVALID_PARAMS = -32602
MAX_PARAMS_DEPTH = 61  # of params: within a message, its params and their arguments it is 64, as for all messages
LOOKUP_KIND = "tool"
_NO_PARAMS: dict[str, Any] = {}
MetaTool = Callable[[RequestContext, Params], Awaitable[Result]]


class MetaTools:
    """The three tools and the two handlers in front of them. With `jobs`, work that outlives its request becomes a
    job; with `plain_tools` and `pages`, a client can have tools of modules as tools of their own, in pages."""

    def __init__(
        self,
        sieve: Sieve,
        runner: ToolRunner,
        vendors: VendorConnections,
        results: KeptResults,
        jobs: JobStarter | None = None,
        plain_tools: PlainTools | None = None,
        pages: ListPages | None = None,
    ) -> None:
        self._pages = pages
        self._plain_tools = plain_tools
        self._plain_lists = LruCache[tuple[Policy, bool, ToolExposure], PlainToolList](MAX_LISTS)
        self._sieve = sieve
        self._runner = runner
        self._vendors = vendors
        self._jobs = jobs
        self._limiter = ResultLimiter(sieve, results)
        batch = BatchTool(sieve, runner, vendors, results, self._limiter, jobs)
        self.plan_batch = batch.plan_work
        self._tools: Mapping[str, MetaTool] = {
            "get_module_schema": self._get_module_schema,
            "call": self._call,
            "batch": batch.run,
        }

    def get_handlers(self) -> dict[str, Handler]:
        """Return the handlers that the transport serves."""
        return {"tools/list": self.list_tools, "tools/call": self.call_tool}

    def get_instructions(self, caller: Caller, exposure: ToolExposure) -> str:
        """Return the instructions for this caller's model: what MCPist is, and the caller's modules."""
        view = self._sieve.get_view(caller)
        return build_instructions(view) if exposure.has_meta_tools else build_plain_instructions(view)

    async def list_tools(self, request: RequestContext, params: Params) -> Result:
        """List the three definitions, as this caller sees them, and the plain tools of the client's exposure.

        Raises:
            ProtocolError: the cursor is none of ours.
        """
        view, exposure, has_tasks = self._sieve.get_view(request.caller), request.exposure, self._jobs is not None
        meta = build_definitions(view, has_tasks=has_tasks)
        if exposure is META_VIEW or self._plain_tools is None or self._pages is None:
            if params.get("cursor") is not None:
                raise ProtocolError(INVALID_PARAMS, "Unknown cursor")
            return meta
        plain = self._plain_tools.get_list(view, exposure) if exposure.has_plain_tools else NO_PLAIN_TOOLS
        page, next_cursor = self._pages.build_page(request.caller, "tools/list", list(plain.tools), str, params)
        definitions = [
            definition | build_icons(plain.tools[name].owner.icon)
            for name in page
            if (definition := plain.define(name, has_tasks=has_tasks)) is not None
        ]
        if exposure.has_meta_tools and params.get("cursor") is None:
            definitions = [*meta["tools"], *definitions]
        return {"tools": definitions, **next_cursor}

    def call_tool(self, request: RequestContext, params: Params) -> Awaitable[Result]:
        """Run one of the three. The transport has checked that `name` is a text and `arguments` an object
        (gateway.mcp.version_negotiation.check_params).

        Raises:
            ProtocolError: another name (MCP, Tools: Error Handling).
        """
        name: str = params["name"]
        tool = self._tools.get(name)
        if request.exposure is not META_VIEW and (tool is None or not request.exposure.has_meta_tools):
            return self._call_plain(request, name, params["arguments"])
        if tool is None:
            raise ProtocolError(INVALID_PARAMS, "Unknown tool; the tools are get_module_schema, call and batch")
        try:
            parsed = parse_arguments(name, params["arguments"])
        except InvalidMetaToolArguments as error:
            return _give_error(str(error))
        running = tool(request, parsed.known)
        return _give_with_note(running, parsed.note) if parsed.note else running

    async def _get_module_schema(self, request: RequestContext, params: Params) -> Result:
        view = self._sieve.get_view(request.caller)
        return await get_module_schema(
            view, request, params, self._runner.record_lookups, self._vendors.describe_connection
        )

    def _call_plain(self, request: RequestContext, name: str, arguments: dict[str, Any]) -> Awaitable[Result]:
        """Run a plain tool as `call` does."""
        caller = request.caller
        key = (caller.policy, caller.credential.read_only, request.exposure)
        plain = self._plain_lists.get(key) or self._list_plain_tools(request, key)
        tool = plain.find(name)
        if tool is None:
            return self._refuse_plain(request, name, arguments)
        if tool.owner.has_plain_names:
            request.max_tokens = choose_document_budget(request)
        return self._run_tool(request, tool.module, tool.name, arguments)

    def _list_plain_tools(self, request: RequestContext, key: tuple[Policy, bool, ToolExposure]) -> PlainToolList:
        if self._plain_tools is None or not request.exposure.has_plain_tools:
            return NO_PLAIN_TOOLS
        found = self._plain_tools.get_list(self._sieve.get_view(request.caller), request.exposure)
        self._plain_lists.put(key, found)
        return found

    async def _refuse_plain(self, request: RequestContext, name: str, arguments: dict[str, Any]) -> Result:
        """Refuse a name that does not exist for the caller, or is not listed; the attempt is recorded.

        Raises:
            ProtocolError: always.
        """
        await self._runner.record_lookups(request, 1, [self._build_missing_name(name, arguments)])
        raise ProtocolError(INVALID_PARAMS, "Unknown tool; tools/list names those that you can use")

    def _build_missing_name(self, name: str, arguments: dict[str, Any]) -> MissingName:
        """Build what is recorded of a name that does not exist for the caller: where a tool has it, as `call` would."""
        tool = None if self._plain_tools is None else self._plain_tools.find(name)
        if tool is None:
            return MissingName(LOOKUP_KIND, cut_text(name, MAX_NAME_LENGTH), orjson.dumps(arguments))
        return MissingName(tool.module, tool.name, orjson.dumps(arguments))

    def _call(self, request: RequestContext, params: Params) -> Awaitable[Result]:
        module, name = params.get("module"), params.get("tool_name")
        if not isinstance(module, str) or not isinstance(name, str):
            return _give_error("call needs module and tool_name, both strings")
        if len(module) > MAX_NAME_LENGTH or len(name) > MAX_NAME_LENGTH:
            # Before anything else looks at them; no name of ours is as long, or ends with an ellipsis.
            module, name = cut_text(module, MAX_NAME_LENGTH), cut_text(name, MAX_NAME_LENGTH)
        tool_params: Any = params.get("params", _NO_PARAMS)
        if tool_params.__class__ is not dict:
            try:
                tool_params = _parse_params(tool_params)
            except InvalidObjectText as error:
                return _give_error(str(error))
        if "max_tokens" in params:
            if problem := explain_invalid_max_tokens(params["max_tokens"]):
                return _give_error(problem)
            request.max_tokens = params["max_tokens"]
        if TAKES_WHOLE_RESULTS.get():
            request.max_tokens, request.short_text = UNLIMITED_TOKENS, True
        return self._run_tool(request, module, name, tool_params)

    async def _run_tool(self, request: RequestContext, module: str, name: str, tool_params: dict[str, Any]) -> Result:
        if request.page_accepted and (tool := self._sieve.get_view(request.caller).find(module, name)):
            await self._vendors.await_connection(request, tool)
            await request.authority.refresh()
        outcome = await self._runner.run(request, module, name, tool_params)
        if outcome.result is not None:
            if isinstance(outcome.result, ContentResult):
                return await self._limiter.limit_content(
                    request, module, name, outcome.result, untrusted=outcome.untrusted
                )
            encoded = encode_model(outcome.result, outcome.untrusted)
            if request.max_tokens == DOCUMENT_TOKENS and not fits_one_answer(encoded):
                request.max_tokens = 0  # the default
            # No text has more tokens than bytes: small ones are not counted.
            if len(encoded) > LEAST_RESULT_TOKENS and len(encoded) > choose_budget(request):
                partial = await self._limiter.limit_result(request, module, name, encoded)
                if partial is not None:
                    return build_value_result(partial, short=request.short_text)
            return build_encoded_result(outcome.result, encoded, request.short_text)
        if outcome.deferred is not None and self._jobs is not None:
            obstacle = await self._vendors.find_obstacle(request, outcome.deferred)
            if obstacle is None:
                return await self._jobs.run(request, build_call_work(outcome.deferred, tool_params))
            outcome = build_failed_outcome(obstacle, request.changes)
        if (asking := build_client_request(request, outcome)) is not None:
            return asking
        return build_error_result(outcome.error or TOOL_FAILED, outcome.error_object, short=request.short_text)


async def _give_error(text: str) -> Result:
    return build_error_result(text)


async def _give_with_note(running: Awaitable[Result], note: str) -> Result:
    return add_note(await running, note)


def _parse_params(params: Any) -> dict[str, Any]:
    return parse_object("params", params if isinstance(params, str) else "", MAX_PARAMS_DEPTH)
