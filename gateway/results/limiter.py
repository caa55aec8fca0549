"""The budget of answers: what is shown in place of a result that is over it, of a call and of a batch's steps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from core.known_clients import LEAST_RESULT_TOKENS
from core.token_estimate import count_tokens_up_to
from gateway.capabilities.content import build_block
from gateway.mcp.request_context import RequestContext, Result
from gateway.meta_tools.batch.run import StepOutcome
from gateway.meta_tools.batch.step import BatchStep
from gateway.meta_tools.batch.text_format import encode_compact_json
from gateway.results.budget import choose_budget
from gateway.results.fitting import count_tokens, count_value
from gateway.results.kept_results import KeptResults
from gateway.sieve.sieve import Sieve, SieveView
from modules.kit import ContentBlock, ContentResult, TextBlock
from modules.kit.untrusted import UNTRUSTED

_STEP_TOKENS = 12
"""Of the names of a step's fields in a report."""


class ResultLimiter:
    """Limits the results of calls and of batches to their budgets."""

    def __init__(self, sieve: Sieve, results: KeptResults) -> None:
        self._sieve = sieve
        self._results = results

    async def limit_result(
        self, request: RequestContext, module: str, name: str, content: bytes
    ) -> dict[str, Any] | None:
        """Return what is shown in place of a tool's result, whose JSON is `content`; None where it is within the
        budget of the call."""
        return await self._limit(request, self._sieve.get_view(request.caller), module, name, content, None)

    async def limit_content(
        self, request: RequestContext, module: str, name: str, content: ContentResult, *, untrusted: bool
    ) -> Result:
        """Return the result of a tool that shows content blocks, or what is shown in place of it where it is over the
        budget of the call. One that is `untrusted` begins with the mark."""
        blocks = [build_block(block) for block in content.content]
        mark = [build_block(TextBlock(text=UNTRUSTED))] if untrusted else []
        view = self._sieve.get_view(request.caller)
        if module not in view.built_in:
            budget = choose_budget(request) - (count_tokens(UNTRUSTED) if untrusted else 0)
            blocks = await self._results.fit_content(request, view.find(module, name), blocks, budget) or blocks
        return {"content": [*mark, *blocks], "isError": False}

    async def describe_content(self, request: RequestContext, module: str, name: str, content: ContentResult) -> str:
        """Describe content blocks as one text, for a step of a batch: texts, and the names of the others, which are
        kept under the handle behind them."""
        described = "\n".join(map(_describe_block, content.content))
        if all(isinstance(block, TextBlock) for block in content.content):
            return described
        tool = self._sieve.get_view(request.caller).find(module, name)
        kept = await self._results.keep_content(request, tool, [build_block(block) for block in content.content])
        return f"{described}\n[{orjson.dumps(kept).decode()}]"

    async def limit_steps(
        self, request: RequestContext, steps: Mapping[str, BatchStep], outcomes: Sequence[StepOutcome]
    ) -> list[StepOutcome]:
        """Return the outcomes with what is shown of each result. A step that says how large its result may be has that
        budget; all others have the budget of an answer together, the smallest results first."""
        contents = {one.id: encode_compact_json(one.result) or b"" for one in outcomes if one.result is not None}
        if not any(steps[step].max_tokens for step in contents) and _is_small(contents, outcomes, request):
            return list(outcomes)
        view = self._sieve.get_view(request.caller)
        shown: dict[str, Any] = {}
        left = choose_budget(request) - _count_report(outcomes)
        shared = [step for step in sorted(contents, key=lambda step: len(contents[step])) if not steps[step].max_tokens]
        for number, step in enumerate(shared):
            share = max(LEAST_RESULT_TOKENS, left // (len(shared) - number))
            found = await self._limit(request, view, steps[step].module, steps[step].tool_name, contents[step], share)
            shown[step] = found
            left -= count_value(found, share) or share if found else _count(contents[step], share)
        for step in contents.keys() - set(shared):
            one = steps[step]
            shown[step] = await self._limit(request, view, one.module, one.tool_name, contents[step], one.max_tokens)
        return [replace(one, result=shown[one.id]) if shown.get(one.id) is not None else one for one in outcomes]

    async def _limit(
        self, request: RequestContext, view: SieveView, module: str, name: str, content: bytes, budget: int | None
    ) -> dict[str, Any] | None:
        if module in view.built_in:  # its tools keep to the budget themselves
            return None
        tool = view.find(module, name)
        return await self._results.fit(request, tool, content, budget or choose_budget(request))


def _describe_block(block: ContentBlock) -> str:
    if isinstance(block, TextBlock):
        return block.text
    source = getattr(block, "uri", "") or getattr(block, "mime_type", "") or getattr(block, "resource", block)
    return f"[{block.type}: {getattr(source, 'uri', source)}]"


def _is_small(contents: Mapping[str, bytes], outcomes: Sequence[StepOutcome], request: RequestContext) -> bool:
    """Check by bytes alone whether all results are within the budget: no text has more tokens."""
    size = sum(map(len, contents.values()))
    return size <= LEAST_RESULT_TOKENS or size + _count_report(outcomes) <= choose_budget(request)


def _count_report(outcomes: Sequence[StepOutcome]) -> int:
    """Count the tokens of a report beside its results."""
    said = [(one.id, one.status, one.error, one.error_object) for one in outcomes]
    return count_tokens(said) + _STEP_TOKENS * len(said)


def _count(content: bytes, most: int) -> int:
    return count_tokens_up_to(content.decode(), most) or most
