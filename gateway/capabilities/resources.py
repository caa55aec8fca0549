"""Handlers of resources/list, resources/templates/list and resources/read ([2025-11-25] Resources)."""

from typing import Any, cast

from gateway.capabilities.content import UNTRUSTED_META, build_annotations, build_resource_content
from gateway.capabilities.paging import CapabilityPage, ListPages
from gateway.capabilities.reading import CapabilityReader, Interrupted
from gateway.catalogue import CatalogueResource
from gateway.icons import build_icons
from gateway.mcp.jsonrpc import INVALID_PARAMS
from gateway.mcp.request_context import Handler, Params, ProtocolError, RequestContext, Result
from gateway.mcp.revisions import RESOURCE_NOT_FOUND
from gateway.sieve.sieve import Sieve
from gateway.tool_runner import ToolRunner
from gateway.uri_templates import MAX_URI_LENGTH, is_short_enough
from modules.kit import ResourceContents

LOOKUP_KIND = "resource"


class ResourceMethods:
    """What a caller may read, listed and read."""

    def __init__(self, sieve: Sieve, runner: ToolRunner, pages: ListPages) -> None:
        self._pages = pages
        self._sieve = sieve
        self._reader = CapabilityReader(runner)

    def get_handlers(self) -> dict[str, Handler]:
        """Return the handlers by method."""
        return {
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read,
        }

    async def _list_resources(self, request: RequestContext, params: Params) -> Result:
        """List the resources without variables: those of a template are made on demand, and no vendor is asked."""
        page, next_cursor = self._build_page(request, params, "resources/list", is_template=False)
        return {"resources": [{"uri": _get_uri(one), **_describe(one)} for one in page], **next_cursor}

    async def _list_templates(self, request: RequestContext, params: Params) -> Result:
        page, next_cursor = self._build_page(request, params, "resources/templates/list", is_template=True)
        return {"resourceTemplates": [{"uriTemplate": _get_uri(one), **_describe(one)} for one in page], **next_cursor}

    def _build_page(self, request: RequestContext, params: Params, method: str, *, is_template: bool) -> CapabilityPage:
        resources = self._sieve.get_view(request.caller).resources
        listed = sorted((one for one in resources if one.resource.is_template == is_template), key=_get_uri)
        return self._pages.build_page(request.caller, method, listed, _get_uri, params)

    async def _read(self, request: RequestContext, params: Params) -> Result:
        """Read a resource. One that is hidden, or whose service is off, is as if made up.

        Raises:
            ProtocolError: there is none with this URI, or it cannot be read now.
        """
        uri = parse_uri(params)
        found = self._sieve.get_view(request.caller).find_resource(uri)
        resource, arguments = (None, None) if found is None else (found[0], convert_variables(*found))
        if resource is None or arguments is None:
            await self._reader.record_missing(request, LOOKUP_KIND, uri)
            raise build_not_found(uri)
        try:
            read = cast("ResourceContents", await self._reader.read(request, resource.tool, arguments))
        except Interrupted as interrupted:
            return interrupted.result
        except ProtocolError as error:
            raise ProtocolError(error.code, error.message, {"uri": uri}) from None
        meta = UNTRUSTED_META if resource.tool.owner.shows_others_texts else {}
        mime_type = resource.resource.mime_type
        return {"contents": [build_resource_content(one, uri, mime_type) | meta for one in read.contents]}


def parse_uri(params: Params) -> str:
    """Parse the URI that a request names.

    Raises:
        ProtocolError: -32602 there is none, or it is too long.
    """
    uri = params.get("uri")
    if type(uri) is not str or not uri:
        raise ProtocolError(INVALID_PARAMS, "Invalid params: uri must be the URI of a resource")
    if not is_short_enough(uri):
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: a URI has at most {MAX_URI_LENGTH} bytes")
    return uri


def build_not_found(uri: str) -> ProtocolError:
    """Build the error for a resource that does not exist for the caller."""
    text = "Resource not found. resources/list and resources/templates/list name those that you can read"
    return ProtocolError(RESOURCE_NOT_FOUND, text, {"uri": uri})


def convert_variables(resource: CatalogueResource, variables: Any) -> dict[str, Any] | None:
    """Convert the variables of a URI, which are texts, as the resource's parameters want them; None where one cannot
    be."""
    properties = resource.tool.input_schema.get("properties", {})
    converted: dict[str, Any] = {}
    for name, text in variables.items():
        if properties[name].get("type") != "integer":
            converted[name] = text
        elif text.isascii() and text.isdigit() and len(text) <= 18:
            converted[name] = int(text)
        else:
            return None
    return converted


def _get_uri(one: CatalogueResource) -> str:
    return one.resource.uris[0]


def _describe(one: CatalogueResource) -> dict[str, Any]:
    declared = one.resource
    return {
        "name": f"{one.tool.module}_{declared.name}",
        "title": f"{one.tool.owner.title}: {declared.title}",
        "description": declared.description,
        "mimeType": declared.mime_type,
        **build_annotations(declared.annotations),
        **build_icons(one.tool.owner.icon),
    }
