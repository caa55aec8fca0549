"""What people attach to a chat from their memory: one entity, or the whole graph."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from modules.kit import FOR_MODELS, Context, ResourceContents, ToolError, read_json_resource, resource
from modules.kit.completions import MAX_VALUES, Option, ask_tool, choose_values
from modules.knowledge_graph.models import Graph, Name, Nodes
from modules.knowledge_graph.tools import READ, get_nodes, read_graph, search


async def complete_entity(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the name of an entity."""
    if typed.strip():
        found = await ask_tool(context, search, Graph, query=typed[:200], limit=MAX_VALUES)
    else:
        found = await ask_tool(context, read_graph, Graph, limit=MAX_VALUES)
    return choose_values((Option(one.name) for one in found.entities), typed)


@resource(
    "resource://knowledge_graph/graph",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ],
    title="My memory",
)
async def graph(context: Context) -> ResourceContents:
    """One's memory: the first 60 kB of its entities and, if all of them fit, their relations."""
    return read_json_resource(await read_graph.run(context, limit=500))


@resource(
    "resource://knowledge_graph/entities/{name}",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ],
    title="Entity",
    complete={"name": complete_entity},
)
async def entity(
    context: Context, name: Annotated[Name, Field(description="Exact name of the entity")]
) -> ResourceContents:
    """An entity with what is known of it, and its relations."""
    found = await ask_tool(context, get_nodes, Nodes, names=[name])
    if not found.entities:
        raise ToolError("there is no entity of that name: names are exact; search for it")
    return read_json_resource(found)


RESOURCES = (graph, entity)
