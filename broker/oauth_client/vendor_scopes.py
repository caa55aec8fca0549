"""Which scopes to ask a vendor for, and which of them it gave: people untick some, vendors rename or imply others."""

from collections.abc import Iterable

from broker.providers.schema import OAuthServer, Provider


def collect_scopes_to_request(
    oauth: OAuthServer, required: Iterable[str], *, kept: Iterable[str] = ()
) -> tuple[str, ...]:
    """The scopes of an authorization request: the provider's own, those of the grant so far, and the wanted ones;
    none where they are set at the vendor's app."""
    if oauth.fixed_scopes:
        return ()
    return tuple(dict.fromkeys((*oauth.base_scopes, *kept, *required)))


def join_scopes(oauth: OAuthServer, scopes: Iterable[str]) -> str:
    """The parameter ``scope`` of a request."""
    return oauth.scope_separator.join(scopes)


def find_missing_scopes(oauth: OAuthServer, required: Iterable[str], granted: Iterable[str] | None) -> tuple[str, ...]:
    """Those of the wanted scopes that were not granted. `granted` is what the token answer says; None means that it
    says nothing, and so that all were (RFC 6749 §5.1)."""
    if granted is None or oauth.fixed_scopes:
        return ()
    have = expand_scopes(oauth, granted) | set(oauth.unreported_scopes)
    return tuple(scope for scope in required if _normalize_scope(oauth, scope) not in have)


def covers_module(provider: Provider, module: str, granted: Iterable[str], *, reading: bool) -> bool:
    """Check whether a grant may be sufficient for the module's read-only tools, or for those that write.

    It is not if it has none of the scopes that these need. A grant with some of them passes: people untick single
    scopes, and only the vendor knows which tool needs which.
    """
    oauth, families = provider.oauth, provider.modules.get(module)
    if oauth is None or families is None or oauth.fixed_scopes:
        return True
    required = set(families.reading if reading else families.writing) - {*oauth.base_scopes, *oauth.unreported_scopes}
    needed = {_normalize_scope(oauth, scope) for scope in required}
    return not needed or not needed.isdisjoint(expand_scopes(oauth, granted))


def expand_scopes(oauth: OAuthServer, granted: Iterable[str]) -> set[str]:
    """The granted scopes by the names that requests use, with all that they imply."""
    have = {_normalize_scope(oauth, scope) for scope in granted}
    return have | {implied for scope in have for implied in oauth.scope_implies.get(scope, ())}


def _normalize_scope(oauth: OAuthServer, scope: str) -> str:
    named = oauth.scope_aliases.get(scope, scope)
    return named.removeprefix(oauth.scope_prefix) if oauth.scope_prefix else named
