"""What a person's or a role's tools need of a vendor: pure, from the modules, the roles and the provider's document."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from broker.providers.model import Provider
from broker.vendor_oauth.scopes import to_ask
from core.permissions import Role


@dataclass(frozen=True, slots=True)
class Offered:
    """A module that has a vendor, and whether each of its tools only reads: all that the broker knows of it.

    `base_url` is the vendor's in the module's code; behind its host it may have placeholders.
    """

    name: str
    title: str
    tools: Mapping[str, bool]
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class Needs:
    """The tools of one module that somebody may use, by what they do."""

    module: Offered
    reading: tuple[str, ...]
    writing: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.reading or self.writing)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The scopes to ask for, and of which tools each of the two kinds consists. `offers_writing` says that there is
    something to be had by asking for more."""

    scopes: tuple[str, ...]
    offers_writing: bool


def needs_of(module: Offered, roles: Sequence[Role]) -> Needs:
    """What of the module these roles, taken together, permit."""
    seen = [
        (tool, reads)
        for tool, reads in module.tools.items()
        if any(role.permits(module.name, tool, reads) for role in roles)
    ]
    reading = tuple(tool for tool, reads in seen if reads)
    return Needs(module, reading, tuple(tool for tool, reads in seen if not reads))


def wanted(provider: Provider, needs: Iterable[Needs], *, writing: Collection[str]) -> Wanted:
    """The scopes for these needs: those of reading first, those of writing for the modules in `writing`, or where there
    is nothing else to ask for. None where the vendor's app has fixed scopes."""
    oauth = provider.oauth
    assert oauth is not None, "only OAuth has scopes"
    found: list[str] = []
    more = False
    for one in needs:
        families = provider.modules[one.module.name]
        if one.reading:
            found += families.reading
        if one.writing and (one.module.name in writing or not one.reading):
            found += families.writing
        elif one.writing and not set(families.writing) <= {*families.reading, *oauth.base_scopes}:
            more = True
    return Wanted(to_ask(oauth, found), more and not oauth.fixed_scopes)
