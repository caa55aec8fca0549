"""Tools that create and delete collections of documents."""

from typing import Annotated

from pydantic import Field

from modules.kit import CollectionOwner, Context, Execution, Hints, ToolError, tool
from modules.rag.collection_names import find_existing, open_collection
from modules.rag.models import ChangedModel, DeletedCollection, ListedCollection
from modules.rag.read_tools import build_collection
from modules.rag.write_tools import CHANGE_HINTS, WRITE

ADD_HINTS = Hints(read_only=False, destructive=False, idempotent=True, open_world=False)


@tool(hints=ADD_HINTS, scopes=[WRITE])
async def create_collection(
    context: Context,
    name: Annotated[str, Field(min_length=1, max_length=100, description="Name of the collection")],
    owner: Annotated[
        CollectionOwner, Field(description="Who reads it: you, the members of a role, or everybody of your company")
    ] = CollectionOwner.USER,
    role: Annotated[str, Field(max_length=100, description="Name of the role, where a role owns it")] = "",
    members_write: Annotated[bool, Field(description="Whether all who read a shared one may write to it")] = False,
) -> ListedCollection:
    """Create a collection of documents, or return the one of this name. Only administrators create shared ones."""
    if (owner is CollectionOwner.ROLE) != bool(role):
        raise ToolError("name a role where a role owns the collection, and only there")
    return build_collection(await open_collection(context, name, owner, role, member_writes=members_write))


@tool(hints=ADD_HINTS, scopes=[WRITE], execution=Execution.ASYNC, keywords="migrate, 再埋め込み")
async def change_embedding_model(
    context: Context,
    collection: Annotated[str, Field(min_length=1, max_length=200, description="Name or id of the collection")],
    model: Annotated[
        str, Field(min_length=1, max_length=200, description="Such as use-multilingual-v3 or voyage-3-lite")
    ],
) -> ChangedModel:
    """Embed a collection anew by another model. Meanwhile it is searched by the old one. A model of a vendor sends the
    texts to it."""
    found = await find_existing(context, collection)
    documents = await context.collections.reembed(found.id, model, context.report_progress)
    return ChangedModel(message=f"{found.name} is embedded by {model}.", documents=documents)


@tool(hints=CHANGE_HINTS, scopes=[WRITE])
async def delete_collection(
    context: Context,
    collection: Annotated[str, Field(min_length=1, max_length=200, description="Name or id of the collection")],
) -> DeletedCollection:
    """Delete a collection with all of its documents."""
    found = await find_existing(context, collection)
    documents = await context.collections.remove(found.id)
    return DeletedCollection(message=f"Deleted {found.name} with {documents} documents.", documents=documents)


COLLECTION_TOOLS = (create_collection, change_embedding_model, delete_collection)
