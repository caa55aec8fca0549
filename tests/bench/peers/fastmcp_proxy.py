"""Runs in the peer's own environment: FastMCP's proxy with one static bearer token, stateless Streamable HTTP.

python fastmcp_proxy.py UPSTREAM_URL PORT TOKEN
"""

import sys

import uvicorn
from fastmcp.server import create_proxy  # pyright: ignore[reportMissingImports]
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier  # pyright: ignore[reportMissingImports]


def main() -> None:
    upstream, port, token = sys.argv[1:]
    tokens = StaticTokenVerifier(tokens={token: {"client_id": "bench", "scopes": []}})
    proxy = create_proxy(upstream, name="bench", auth=tokens)
    app = proxy.http_app(path="/mcp", json_response=True, stateless_http=True)
    options = {"loop": "uvloop", "http": "httptools", "log_level": "warning", "access_log": False}
    uvicorn.run(app, host="127.0.0.1", port=int(port), **options)


if __name__ == "__main__":
    main()
