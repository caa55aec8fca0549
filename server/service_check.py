"""Run each reading tool of a module once, and tell which answers were not as documented; no content is kept.

What a tool needs comes from the module's samples: a literal, or a value of an earlier answer.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import orjson

from broker.oauth_client.token_response import resolve_pointer
from gateway.catalogue import CatalogueTool
from gateway.tool_runner import ToolOutcome
from modules.kit import ParameterSample
from modules.kit.misfits import collect_misfits

CheckState = Literal["ok", "refused", "misfit", "skipped"]
Call = Callable[[str, dict[str, Any]], Awaitable[ToolOutcome]]
MIN_HIDDEN_LENGTH = 3
"""Characters of a value that is taken out of a refusal's text; shorter ones are no contents."""


@dataclass(frozen=True, slots=True)
class CheckedTool:
    """What came of one tool. `reason`: of a refusal, or why it was not run. `misfits`: paths of fields, with what was
    wrong there; a tool whose answer could be read in spite of them has these too."""

    tool: str
    state: CheckState
    reason: str = ""
    misfits: tuple[str, ...] = ()


class MissingSample(Exception):
    """There is no value for a parameter; the text says why."""


class ServiceCheck:
    """One run over the tools of a module that the caller may use. `call` calls a tool as the caller."""

    def __init__(self, tools: Iterable[CatalogueTool], call: Call) -> None:
        self._tools = {one.tool.name: one for one in tools if one.tool.hints.read_only}
        self._call = call
        self._checked: dict[str, CheckedTool] = {}
        self._results: dict[bytes, Any] = {}
        self._open: set[str] = set()
        """Tools whose parameters are being looked for: a sample that leads back to one of them has no value."""

    async def run(self) -> list[CheckedTool]:
        """Check every tool, in the order of declaration."""
        for name in self._tools:
            if name not in self._checked:
                try:
                    await self._fetch(name, {})
                except MissingSample as missing:
                    self._checked.setdefault(name, CheckedTool(name, "skipped", str(missing)))
        return [self._checked[name] for name in self._tools]

    async def _fetch(self, name: str, more: Mapping[str, Any]) -> Any:
        """Return the result of a tool, called with `more` beside its samples; None if it was refused.

        Raises:
            MissingSample: there is no value for one of its parameters.
        """
        if name not in self._tools:
            raise MissingSample(f"{name} is not permitted")
        if name in self._open:
            raise MissingSample(f"the samples of {name} lead back to it")
        self._open.add(name)
        try:
            arguments = {**await self._find_arguments(self._tools[name]), **more}
        finally:
            self._open.discard(name)
        key = orjson.dumps([name, arguments], option=orjson.OPT_SORT_KEYS)
        if key not in self._results:
            self._results[key] = await self._run_tool(name, arguments)
        return self._results[key]

    async def _run_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        with collect_misfits() as misfits:
            outcome = await self._call(name, arguments)
        reason = _hide_values(outcome.error or "", arguments)
        state = "misfit" if misfits else "refused" if outcome.error is not None else "ok"
        before = self._checked.get(name)
        if before is None or before.state == "ok":  # a tool may be called more than once; the worst counts
            self._checked[name] = CheckedTool(name, state, reason, tuple(misfits))
        return None if outcome.result is None else outcome.result.model_dump(mode="json", by_alias=True)

    async def _find_arguments(self, one: CatalogueTool) -> dict[str, Any]:
        names = dict.fromkeys((*one.input_schema.get("required", ()), *_list_sampled(one)))
        return {name: await self._find_value(one, name) for name in names}

    async def _find_value(self, one: CatalogueTool, parameter: str) -> Any:
        sample = one.owner.get_sample(one.tool.name, parameter)
        if sample is None:
            raise MissingSample(f"the module has no sample for {parameter}")
        if not sample.tool:
            return sample.example
        value: Any = _take_part(
            sample, resolve_pointer(await self._fetch(sample.tool, sample.arguments), sample.pointer)
        )
        if value is None or value == "":
            raise MissingSample(f"it needs {parameter}, and {sample.tool} gave none")
        if one.input_schema["properties"][parameter].get("type") != "array" or isinstance(value, list):
            return cast("Any", value)
        return [value]


def _list_sampled(one: CatalogueTool) -> list[str]:
    """List the parameters for which the module has a sample for this tool alone."""
    return [name for name in one.input_schema.get("properties", {}) if f"{one.tool.name}.{name}" in one.owner.samples]


def _take_part(sample: ParameterSample, value: Any) -> Any:
    if sample.part is None or not isinstance(value, str):
        return value
    parts = value.replace("/", " ").split()
    return parts[sample.part] if sample.part < len(parts) else None


def _hide_values(text: str, arguments: Mapping[str, Any]) -> str:
    """Take the arguments' values out of a text: they are contents of an account."""
    values = sorted((str(value) for value in arguments.values()), key=len, reverse=True)
    for value in values:
        if len(value) >= MIN_HIDDEN_LENGTH:
            text = text.replace(value, "…")
    return text
