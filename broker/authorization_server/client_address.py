"""Who is being answered, for limits far below the routes, whose functions know no requests."""

from contextvars import ContextVar

CLIENT_ADDRESS: ContextVar[str] = ContextVar("asker", default="")
"""The address that the request comes from, proxies taken into account; empty where there is none."""
