"""Resources that modules open when the gateway starts, and close when it stops (modules.kit.Module.lifespan)."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Iterable

from core.errors import Invalid
from core.log_events import describe_error
from gateway.module_log import get_module_log
from modules.kit import Module

START_SECONDS = 30.0
STOP_SECONDS = 10.0

log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def open_module_lifespans(modules: Iterable[Module]) -> AsyncGenerator[None]:
    """Open every module's lifespan in name order; close them in the other. A module that fails to close is logged, and
    the others are closed.

    Raises:
        core.errors.Invalid: a module does not start; the text names it.
    """
    async with contextlib.AsyncExitStack() as stack:
        for module in modules:
            if module.lifespan is not None:
                await stack.enter_async_context(_open_lifespan(module))
        yield


@contextlib.asynccontextmanager
async def _open_lifespan(module: Module) -> AsyncGenerator[None]:
    assert module.lifespan is not None, "asked for modules that have one"
    lifespan = module.lifespan(get_module_log(module.name))
    try:
        async with asyncio.timeout(START_SECONDS):
            await lifespan.__aenter__()
    except TimeoutError:
        raise Invalid(f"the module {module.name} has not started within {START_SECONDS:g} s") from None
    except Exception as error:  # noqa: BLE001 a module's code may raise anything
        raise Invalid(f"the module {module.name} does not start: {_describe_start_error(error)}") from None
    try:
        yield
    finally:
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await lifespan.__aexit__(None, None, None)
        except Exception as error:  # noqa: BLE001 the same; everything else has to be closed all the same
            fields = {"module_name": module.name, **describe_error(error)}
            log.error("a module failed to stop", extra={"event": "module_stop_failed", **fields})


def _describe_start_error(error: Exception) -> str:
    """Describe an error without its text, which may hold a secret of the environment."""
    fields = describe_error(error)
    return f"{fields['error']} at {fields['location']}"
