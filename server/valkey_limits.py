"""Valkey or Redis as what processes share limits through (:class:`core.concurrency.replicated_limits.LimitStore`)."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError, RedisError

from core.concurrency.replicated_limits import BucketReport
from core.config.settings import Settings
from core.errors import Unavailable
from core.private_file import read_private

TIMEOUT_SECONDS = 1.0
"""Seconds for one report. No call waits for it."""
CHECK_SECONDS = 5.0
"""Seconds in which the doctor expects an answer."""
PROCESS_SECONDS = 15
"""Seconds after its last report in which a process counts."""
PREFIX = "{mcpist-limits}:"
"""Of all keys; the braces keep them in one slot of a cluster."""

# The bucket is the moment at which it is full again (GCRA), by the store's clock.
_REPORT = """
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local interval = tonumber(ARGV[1])
redis.call('ZADD', KEYS[1], now, ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[3]))
redis.call('EXPIRE', KEYS[1], 60)
local answer = {redis.call('ZCARD', KEYS[1])}
for i = 2, #KEYS do
    local full = tonumber(redis.call('GET', KEYS[i]) or '0')
    if full < now then full = now end
    full = full + interval * tonumber(ARGV[i + 2])
    local left = full - now
    redis.call('SET', KEYS[i], string.format('%.6f', full), 'PX', math.ceil(left * 1000) + 1000)
    answer[i] = string.format('%.6f', left)
end
return answer
"""


class ValkeyLimitStore:
    """Buckets in one Valkey or Redis."""

    def __init__(self, client: "Redis", timeout: float = TIMEOUT_SECONDS) -> None:
        self._timeout = timeout
        self._script: Any = client.register_script(_REPORT)
        self._process = secrets.token_hex(8)

    async def report(self, interval: float, counts: Mapping[str, int]) -> BucketReport:
        keys = [f"{PREFIX}processes", *(f"{PREFIX}user:{key}" for key in counts)]
        arguments = [f"{interval:.9f}", self._process, PROCESS_SECONDS, *counts.values()]
        try:
            async with asyncio.timeout(self._timeout):
                answer: list[Any] = await self._script(keys=keys, args=arguments)
        except (RedisError, OSError, TimeoutError) as error:
            raise Unavailable(describe_problem(error)) from None
        return BucketReport(tuple(map(float, answer[1:])), int(answer[0]))


@contextlib.asynccontextmanager
async def open_limit_store(settings: Settings, timeout: float = TIMEOUT_SECONDS) -> AsyncGenerator[ValkeyLimitStore]:
    """Open the store of ``MCPIST_REDIS_URL``; it need not be there yet.

    Raises:
        Invalid: the password file can be read by others, or cannot be read.
    """
    client = Redis(**_build_arguments(settings, timeout))
    try:
        yield ValkeyLimitStore(client, timeout)
    finally:
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await client.aclose()


async def find_limit_store_problem(settings: Settings) -> str:
    """Try the store; return what is wrong with it, or nothing."""
    async with open_limit_store(settings, CHECK_SECONDS) as store:
        try:
            await store.report(1.0, {})
        except Unavailable as error:
            return str(error)
    return ""


def describe_problem(error: Exception) -> str:
    """Describe why the store of MCPIST_REDIS_URL does not serve, without its own words."""
    if isinstance(error, NoPermissionError):
        return (
            "the Valkey or Redis user of MCPIST_REDIS_URL lacks a permission: grant it EVALSHA, SCRIPT LOAD, TIME, "
            f"GET, SET, EXPIRE, ZADD, ZCARD and ZREMRANGEBYSCORE on {PREFIX}*"
        )
    if isinstance(error, AuthenticationError | AuthorizationError):
        return "Valkey or Redis refuses the login: are user and password of MCPIST_REDIS_URL right?"
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return (
            "the certificate of the Valkey or Redis of MCPIST_REDIS_URL is not trusted: name its authority's "
            "certificate in MCPIST_REDIS_CA_FILE"
        )
    return "the Valkey or Redis of MCPIST_REDIS_URL cannot be reached"


def _build_arguments(settings: Settings, timeout: float) -> dict[str, Any]:
    """Build the client's arguments. Nothing is retried within a report: the next one follows."""
    assert settings.redis_url is not None
    url = urlsplit(settings.redis_url.reveal())
    password = unquote(url.password) if url.password else None
    if settings.redis_password is not None:
        password = read_private(settings.redis_password).strip()
    arguments: dict[str, Any] = {
        "host": url.hostname,
        "port": url.port or 6379,
        "db": int(url.path.strip("/") or "0"),
        "username": unquote(url.username) if url.username else None,
        "password": password,
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "retry": None,
        "max_connections": 2,
    }
    if url.scheme == "rediss":
        authority = settings.redis_ca
        arguments |= {"ssl": True, "ssl_cert_reqs": "required", "ssl_check_hostname": True}
        arguments |= {"ssl_ca_certs": str(authority)} if authority is not None else {}
    return arguments
