"""The reference of a knowledge graph call: bare Starlette and asyncpg, one plain statement on the same tables.

It has no tenant, no row-level security, no audit, no paging, no transaction of its own, and checks no arguments.
"""

import argparse
import contextlib
import hashlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from core.config.settings import Settings
from server.data_folder import attach_database
from tests.bench.servers.bearer import allowed
from tests.bench.servers.serving import serve

GET_NODES = """SELECT e.name, e.type, o.observation FROM modules.kg_entities e
    LEFT JOIN modules.kg_observations o
        ON o.tenant_id = e.tenant_id AND o.user_id = e.user_id AND o.entity = e.name
    WHERE e.tenant_id = $1 AND e.user_id = $2 AND e.name = ANY ($3::text[])"""
SEARCH = """SELECT e.name, e.type, o.observation FROM modules.kg_entities e
    LEFT JOIN modules.kg_observations o
        ON o.tenant_id = e.tenant_id AND o.user_id = e.user_id AND o.entity = e.name
    WHERE e.tenant_id = $1 AND e.user_id = $2 AND (strpos(e.folded, $3) > 0 OR strpos(o.folded, $3) > 0)"""
ADD = """INSERT INTO modules.kg_observations (tenant_id, user_id, entity, observation, fingerprint, folded)
    VALUES ($1, $2, $3, $4, $5, $4) ON CONFLICT DO NOTHING"""


class Graph:
    """One user's graph over a pool that never resets a connection."""

    def __init__(self, home: Path, tenant_id: UUID, user_id: UUID) -> None:
        self._home = home
        self._owner = (tenant_id, user_id)

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncGenerator[None]:
        async with attach_database(Settings(home=self._home), lambda _text: None) as deployment:
            arguments = deployment.admin.connect_args()
            async with asyncpg.create_pool(**arguments, min_size=1, max_size=16, connection_class=_Kept) as self._pool:
                yield

    async def answer(self, request: Request) -> Response:
        if not allowed(request.headers.get("authorization", "")):
            return Response(status_code=401)
        message = orjson.loads(await request.body())
        given = message["params"]["arguments"]
        found = await self._tool(given["tool_name"], given["params"])
        text = {"type": "text", "text": orjson.dumps(found).decode()}
        result = {"content": [text], "structuredContent": found, "isError": False}
        content = orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return Response(content, media_type="application/json")

    async def _tool(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        if name == "add_observations":
            one = params["observations"][0]
            text = one["contents"][0]
            fingerprint = hashlib.md5(text.encode()).digest()
            await self._pool.execute(ADD, *self._owner, one["entityName"], text, fingerprint)
            return {"added": 1}
        statement, value = (SEARCH, params["query"]) if name == "search" else (GET_NODES, params["names"])
        return {"rows": [list(row) for row in await self._pool.fetch(statement, *self._owner, value)]}


class _Kept(asyncpg.Connection):
    def get_reset_query(self) -> str:
        return ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--tenant", type=UUID, required=True)
    parser.add_argument("--user", type=UUID, required=True)
    given = parser.parse_args()
    graph = Graph(given.home, given.tenant, given.user)
    serve(Starlette(routes=[Route("/mcp", graph.answer, methods=["POST"])], lifespan=graph.lifespan))


if __name__ == "__main__":
    main()
