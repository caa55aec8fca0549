"""Configuration to paste into LLM clients. Forms as documented by Claude Code, Cursor and VS Code in 2026."""

import json

SERVER_NAME = "mcpist"


def render_claude_code(url: str, token: str) -> str:
    """Render one command. The blank in front keeps it out of the history of shells that are set so (HISTCONTROL)."""
    return f' claude mcp add --transport http {SERVER_NAME} {url} --header "Authorization: Bearer {token}"'


def render_cursor(url: str, token: str) -> str:
    """Render the content of ``~/.cursor/mcp.json``; the file of a project (.cursor/mcp.json) is easily committed."""
    server = {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
    return json.dumps({"mcpServers": {SERVER_NAME: server}}, indent=2)


def render_vs_code(url: str) -> str:
    """Render the content of ``.vscode/mcp.json``. VS Code asks for the token and keeps it: the file holds no secret."""
    token_input = {"type": "promptString", "id": "mcpist-token", "description": "MCPist API token", "password": True}
    server = {"type": "http", "url": url, "headers": {"Authorization": "Bearer ${input:mcpist-token}"}}
    return json.dumps({"inputs": [token_input], "servers": {SERVER_NAME: server}}, indent=2)
