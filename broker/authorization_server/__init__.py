"""The OAuth 2.1 authorization server that MCP clients use (RFC 6749 as tightened by RFC 9700)."""
