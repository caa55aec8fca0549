"""Bare Starlette without a hop: checks a bearer token, reads the JSON-RPC request, renders a fixed result."""

import argparse
from pathlib import Path

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.bench.servers.bearer import allowed
from tests.bench.servers.serving import serve


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=Path, required=True, help="a file of JSON: name in params or method → result")
    results = orjson.loads(parser.parse_args().results.read_bytes())

    async def answer(request: Request) -> Response:
        if not allowed(request.headers.get("authorization", "")):
            return Response(status_code=401)
        message = orjson.loads(await request.body())
        result = results[message["params"].get("name", message["method"])]
        content = orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return Response(content, media_type="application/json")

    serve(Starlette(routes=[Route("/mcp", answer, methods=["POST"])]))


if __name__ == "__main__":
    main()
