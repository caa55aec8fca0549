"""Dependencies of the connect routes."""

from typing import Annotated

from fastapi import Depends, Request

from broker.connect.connect_services import ConnectServices


async def _get_dependencies(request: Request) -> ConnectServices:
    return request.app.state.connect


ConnectDeps = Annotated[ConnectServices, Depends(_get_dependencies)]
