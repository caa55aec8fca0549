"""Scopes that a person's or a role's tools need at a vendor: pure, from modules, roles and the provider's document."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from broker.oauth_client.vendor_scopes import collect_scopes_to_request
from broker.providers.schema import Provider
from core.module_manifest import ModuleManifest
from core.permissions import Role


@dataclass(frozen=True, slots=True)
class RequiredTools:
    """The tools of one module that somebody may use, by what they do."""

    module: ModuleManifest
    read_tools: tuple[str, ...]
    write_tools: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.read_tools or self.write_tools)


@dataclass(frozen=True, slots=True)
class ScopeRequest:
    """The scopes to ask for, and of which tools each of the two kinds consists. `offers_writing` says that there is
    something to be had by asking for more."""

    scopes: tuple[str, ...]
    can_request_write: bool


def find_required_tools(module: ModuleManifest, roles: Sequence[Role]) -> RequiredTools:
    """Find the module's tools that these roles, taken together, permit."""
    seen = [
        (name, tool.read_only)
        for name, tool in module.tools.items()
        if any(role.permits(module.name, name, tool.read_only) for role in roles)
    ]
    reading = tuple(tool for tool, reads in seen if reads)
    return RequiredTools(module, reading, tuple(tool for tool, reads in seen if not reads))


def build_scope_request(
    provider: Provider, needs: Iterable[RequiredTools], *, writing: Collection[str]
) -> ScopeRequest:
    """The scopes for these needs: those of reading first, those of writing for the modules in `writing`, or where there
    is nothing else to ask for. None where the vendor's app has fixed scopes."""
    oauth = provider.oauth
    assert oauth is not None, "only OAuth has scopes"
    found: list[str] = []
    more = False
    for one in needs:
        families = provider.modules[one.module.name]
        if one.read_tools:
            found += families.reading
        if one.write_tools and (one.module.name in writing or not one.read_tools):
            found += families.writing
        elif one.write_tools and not set(families.writing) <= {*families.reading, *oauth.base_scopes}:
            more = True
    return ScopeRequest(collect_scopes_to_request(oauth, found), more and not oauth.fixed_scopes)
