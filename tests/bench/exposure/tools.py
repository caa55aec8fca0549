"""Real definitions: the tools of the product's own modules, and operations of AWS as botocore describes them, which do
nothing that those do. The vendors' own descriptions are not used: their operations are what the modules' tools do, so
that a task would have two right answers."""

import random
import re
from collections.abc import Sequence
from typing import Annotated, Any

import botocore.loaders
from pydantic import BaseModel, Field, create_model

from gateway.catalogue import Catalogue, build_catalogue, load_installed_modules
from modules.kit import Context, Module, Tool
from tests.support.toy_modules import READS, without

SERVICES = ("s3", "dynamodb", "sns", "ses")
POOL = 500
_KINDS: dict[str, Any] = {"integer": int, "long": int, "boolean": bool, "list": list[Any], "structure": dict[str, Any]}

Name = tuple[str, str]


class Answer(BaseModel):
    text: str


def load_pool() -> Catalogue:
    """Load 500 tools."""
    own = load_installed_modules()
    full = build_catalogue([*own.modules, *map(_build_module, SERVICES)])
    names = [(name, tool.name) for name, tools in full.tools.items() for tool in tools]
    names.sort(key=lambda name: name[0] not in own.tools)
    return without(full, names[:POOL])


def draw(pool: Catalogue, needed: Sequence[Name], size: int, seed: int) -> Catalogue:
    """Draw a catalogue of `size` tools with the `needed` ones among them."""
    wanted = set(needed)
    rest = [
        (name, tool.name) for name, tools in pool.tools.items() for tool in tools if (name, tool.name) not in wanted
    ]
    random.Random(seed).shuffle(rest)
    return without(pool, [*wanted, *rest[: size - len(wanted)]])


def _build_module(service: str) -> Module:
    model = botocore.loaders.Loader().load_service_model(service, "service-2")
    title = model["metadata"]["serviceFullName"]
    tools = tuple(_build_tool(service, name, operation, model) for name, operation in model["operations"].items())
    return Module(service, title, f"{title}."[:120], frozenset({service}), tools)


def _build_tool(service: str, name: str, operation: dict[str, Any], model: dict[str, Any]) -> Tool:
    shape = model["shapes"].get(operation.get("input", {}).get("shape"), {})
    fields: dict[str, Any] = {}
    for member, value in shape.get("members", {}).items():
        kind = _KINDS.get(model["shapes"][value["shape"]]["type"], str)
        described = Field(description=_clean(value.get("documentation", ""), 120))
        required = member in shape.get("required", ())
        fields[_snake(member)] = (
            (Annotated[kind, described], ...) if required else (Annotated[kind | None, described], None)
        )
    words = _snake(name)
    text = _clean(operation.get("documentation", ""), 300)
    return Tool(
        name=words[:64], title=words.replace("_", " "), description=text or words,
        hints=READS, scopes=frozenset({service}), aliases=(), sensitive_parameters=frozenset(),
        arguments=create_model(f"{name}Arguments", **fields), result=Answer, run=_run,
    )  # fmt: skip


async def _run(_context: Context, **_params: Any) -> BaseModel:
    raise NotImplementedError  # nothing is called here


def _clean(html: str, length: int) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html)).strip()[:length]


def _snake(name: str) -> str:
    return re.sub(r"\W", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)).lower().lstrip("_")
