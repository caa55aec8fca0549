"""The Model Context Protocol over HTTP: both eras, stateless, on plain ASGI."""
