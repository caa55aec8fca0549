"""The ways to connect a module, and what a vendor is asked for on each: the page shows no less and no more."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from broker.connect.held import Held
from broker.connect.oauth_clients import Chosen
from broker.connect.offers import Needs, Wanted, wanted
from broker.providers.model import Provider
from broker.vault.bounds import ELSEWHERE
from broker.vendor_oauth.scopes import covered


@dataclass(frozen=True, slots=True)
class Way:
    """One way to connect a module. `client` is ours at the provider; of kind oauth, None where we become one when
    somebody begins, and a key can do without. `joined` are its other modules that use the same account already, and so
    whatever takes its place; `also` are those that the same grant can be for, `taken` those of them that are connected
    in another way. `before` are the scopes that were granted so far."""

    kind: Literal["oauth", "key"]
    provider: Provider | None
    client: Chosen | None = None
    wanted: Wanted | None = None
    joined: tuple[Needs, ...] = ()
    also: tuple[Needs, ...] = ()
    taken: frozenset[str] = frozenset()
    before: tuple[str, ...] = ()

    def takes_key_of(self, provider: str) -> bool:
        """Whether a key of this provider goes this way; "" is any provider's."""
        return self.kind == "key" and (not provider or (self.provider is not None and self.provider.id == provider))


def ways_of(
    module: str,
    needs: Mapping[str, Needs],
    providers: Sequence[Provider],
    clients: Mapping[str, Chosen | None],
    own: Mapping[str, Held],
    missing: Collection[str],
    *,
    keys: bool,
) -> list[Way]:
    """Every way to connect a module that somebody needs; `own` is what they have, by module, `missing` are providers
    that nobody has registered us at. `keys`: the service is where a key can be used."""
    found: list[Way] = []
    for provider in providers:
        if provider.oauth is not None and provider.id not in missing:
            found.append(_oauth_way(module, needs, provider, clients.get(provider.id), own))
        if provider.key is not None and keys:
            found.append(Way("key", provider, clients.get(provider.id)))
    return found if providers or not keys else [Way("key", None)]


def _oauth_way(
    module: str, needs: Mapping[str, Needs], provider: Provider, client: Chosen | None, own: Mapping[str, Held]
) -> Way:
    mine = own.get(module)
    account = mine.account_id if mine is not None and mine.provider == provider.id else None
    others = [needs[one] for one in provider.modules if one in needs and one != module]
    before = mine.scopes if mine is not None and account is not None else ()
    writing = {module} if has_writing(provider, needs[module], before) else set[str]()

    def joins(one: Needs) -> bool:
        theirs = own.get(one.module.name)
        return account is not None and theirs is not None and theirs.account_id == account and theirs.cause != ELSEWHERE

    return Way(
        kind="oauth",
        provider=provider,
        client=client,
        wanted=wanted(provider, (needs[module],), writing=writing),
        joined=tuple(one for one in others if joins(one)),
        also=tuple(one for one in others if not joins(one)),
        taken=frozenset(one.module.name for one in others if one.module.name in own),
        before=before,
    )


def asked_of(way: Way, needs: Needs, also: Iterable[Needs] = (), *, writing: bool) -> Wanted:
    """What a vendor is asked for, on this way, for a module and others that are to use the same grant: exactly what the
    page shows. `writing` asks for the module's tools that change something; where they were granted before, or those of
    another module were, that is asked for again."""
    assert way.provider is not None, "only OAuth has scopes"
    provider, every = way.provider, (needs, *way.joined, *also)
    more = {one.module.name for one in every if has_writing(provider, one, way.before)}
    return wanted(provider, every, writing=more | ({needs.module.name} if writing else set[str]()))


def has_writing(provider: Provider, needs: Needs, granted: Sequence[str]) -> bool:
    """Whether scopes of the module's writing tools were granted before, so that connecting again asks for them too."""
    families = provider.modules[needs.module.name]
    more = set(families.writing) - set(families.reading)
    return bool(more) and provider.oauth is not None and more <= covered(provider.oauth, granted)
