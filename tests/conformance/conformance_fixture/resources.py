"""Resources, with and without variables."""

import json
from typing import Annotated

from conformance_fixture.samples import PNG, READ
from pydantic import Field

from modules.kit import Context, ResourceContent, ResourceContents, read_text_resource, resource


@resource("test://static-text", mime_type="text/plain", scopes=READ)
async def static_text(context: Context) -> ResourceContents:
    """A text that is always the same."""
    return read_text_resource("This is the content of the static text resource.")


@resource("test://static-binary", mime_type="image/png", scopes=READ)
async def static_binary(context: Context) -> ResourceContents:
    """An image that is always the same."""
    return ResourceContents(contents=(ResourceContent(data=PNG),))


@resource("test://watched-resource", mime_type="text/plain", scopes=READ)
async def watched_resource(context: Context) -> ResourceContents:
    """A text to subscribe to."""
    return read_text_resource("Watched resource content")


@resource("test://template/{id}/data", mime_type="application/json", scopes=READ)
async def template_data(context: Context, id: Annotated[str, Field(description="Of the data")]) -> ResourceContents:
    """One of many data."""
    return read_text_resource(json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"}))


RESOURCES = (static_text, static_binary, watched_resource, template_data)
