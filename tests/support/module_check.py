"""What ``mcpist service check`` tells of a module, in front of a double, without the gateway."""

from collections.abc import Mapping
from typing import Any

from core.http.credential_headers import BEARER, CredentialScheme
from gateway.catalogue import build_catalogue
from gateway.tool_runner import ToolOutcome
from modules.kit import Module, ToolError
from server.service_check import CheckedTool, ServiceCheck
from tests.support.plain_vendor import VendorCaller, vendor_callers


async def check_module(
    module: Module,
    base_url: str,
    secret: str,
    hosts: Mapping[str, str] | None = None,
    scheme: CredentialScheme = BEARER,
) -> dict[str, CheckedTool]:
    """Run the check with one credential; what came of each reading tool, by its name. `hosts` are the double's further
    ones, `scheme` is how it takes the credential."""
    async with vendor_callers() as callers:
        caller: VendorCaller = callers(module, base_url, secret, hosts, scheme)

        async def call(name: str, arguments: dict[str, Any]) -> ToolOutcome:
            try:
                return ToolOutcome(result=await caller.run(name, arguments))
            except ToolError as error:
                return ToolOutcome(error=str(error))

        checked = await ServiceCheck(build_catalogue([module]).tools[module.name], call).run()
    return {one.tool: one for one in checked}


def list_troubles(checked: dict[str, CheckedTool]) -> list[CheckedTool]:
    """List the tools that were not run, or whose answers were refused or did not fit."""
    return [one for one in checked.values() if one.state != "ok"]
