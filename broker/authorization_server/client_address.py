"""Client address of the current request, for rate limits in functions that have no request object."""

from contextvars import ContextVar

CLIENT_ADDRESS: ContextVar[str] = ContextVar("asker", default="")
"""The address that the request comes from, proxies taken into account; empty where there is none."""
