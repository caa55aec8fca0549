"""The OpenAPI document of the whole admin API, without a database behind it."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

from fastapi import Request

from admin_ui.api import app as directory_api
from broker.api import app as identity_api
from broker.api import deployment_section as deployment_api
from broker.api import routers as connect_api
from core.api.app import ApiSection, build_fastapi_app
from core.api.principal import AuthenticationRequired, Principal
from core.api.security import ApiSecurity


@cache
def build_openapi_document() -> dict[str, Any]:
    """Build the document of all routers, once per process: it takes 2 s. Callers must not modify it."""

    async def refuse(request: Request) -> Principal:
        raise AuthenticationRequired("the document is built without authentication")

    security = ApiSecurity(refuse, "https://mcp.test", lambda: datetime.now(UTC), lambda request: "192.0.2.1")
    routers = (*directory_api.ROUTERS, *identity_api.ROUTERS, *connect_api.ROUTERS, *deployment_api.ROUTERS)
    return build_fastapi_app(security, [ApiSection(routers, {})], "0").state.openapi.read()
