"""Tools that create and delete collections of documents."""

from typing import Annotated

from pydantic import Field

from modules.kit import CollectionOwner, Context, Hints, tool
from modules.rag.collection_names import find_collection, open_collection
from modules.rag.models import DeletedCollection, ListedCollection
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
) -> ListedCollection:
    """Create a collection of documents, or return the one of this name. Only administrators create shared ones."""
    return build_collection(await open_collection(context, name, owner, role))


@tool(hints=CHANGE_HINTS, scopes=[WRITE])
async def delete_collection(
    context: Context,
    collection: Annotated[str, Field(min_length=1, max_length=200, description="Name or id of the collection")],
) -> DeletedCollection:
    """Delete a collection with all of its documents."""
    found = await find_collection(context, collection)
    documents = await context.collections.remove(found.id)
    return DeletedCollection(message=f"Deleted {found.name} with {documents} documents.", documents=documents)


COLLECTION_TOOLS = (create_collection, delete_collection)
