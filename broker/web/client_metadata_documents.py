"""Our client metadata documents, which vendors read to know who we are (draft-ietf-oauth-client-id-metadata-document).

Anybody may read them. Nothing is looked up: there is one for every tenant and provider that there could be.
"""

import re
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from broker.connect.client_registration import AutomaticClientRegistration
from broker.web.connect_urls import CLIENT_DOCUMENTS_PATH
from core.errors import NotFound

DOCUMENT_HEADERS = {"Cache-Control": "public, max-age=3600"}
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def build_client_document_route(introductions: AutomaticClientRegistration) -> Route:
    """The route of all documents."""

    async def serve_document(request: Request) -> Response:
        tenant, provider = request.path_params["tenant"], request.path_params["provider"]
        if not _is_canonical_id(tenant) or not _PROVIDER.fullmatch(provider) or not introductions.has_documents:
            raise NotFound("there is no such document")
        return JSONResponse(introductions.build_document(UUID(tenant), provider), headers=DOCUMENT_HEADERS)

    return Route(CLIENT_DOCUMENTS_PATH + "{tenant}/{provider}.json", serve_document, methods=["GET"])


def _is_canonical_id(text: str) -> bool:
    """Check whether the id is in canonical form: a document's URL is compared letter by letter."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
