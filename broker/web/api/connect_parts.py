"""What the routes of connecting work with."""

from typing import Annotated

from fastapi import Depends, Request

from broker.connect.parts import ConnectParts


async def _parts(request: Request) -> ConnectParts:
    return request.app.state.connect


Connect = Annotated[ConnectParts, Depends(_parts)]
