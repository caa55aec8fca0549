"""The public keys that clients and trusted issuers sign assertions with: registered with us, or published by them."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from joserfc.jwk import Key

from broker.oauth.jose import NotGenuine, SignedJwt, public_key
from broker.oauth.key_sets import MOST_BYTES, RemoteKeys
from core.errors import Invalid
from core.outbound.documents import Documents

ALGORITHMS = frozenset({"RS256", "ES256"})
MOST_KEYS = 10
MOST_TRIED = 5
"""Keys that are tried where an assertion does not say which one has signed it."""
MOST_SETS = 500

_PRIVATE = ("d", "p", "q", "dp", "dq", "qi", "oth", "k")


def checked_jwks(document: object) -> dict[str, Any]:
    """A key set that somebody registers, with its public keys and nothing else.

    Raises:
        Invalid: it holds a private key, or one that cannot check RS256 or ES256 signatures, or none.
    """
    given = _listed(document)
    if not 1 <= len(given) <= MOST_KEYS:
        raise Invalid(f'a key set looks like {{"keys": [...]}}, with 1 to {MOST_KEYS} keys')
    if any(name in key for key in given for name in _PRIVATE):
        raise Invalid("the key set holds a private key: make a new one, keep it to yourself, give its public half only")
    if any(_key(one) is None for one in given):
        raise Invalid("the keys of a key set are RSA keys of 2048 bits or more, or EC keys on the curve P-256")
    return {"keys": [{name: value for name, value in key.items() if isinstance(value, str)} for key in given]}


def keys_in(document: object) -> tuple[Key, ...]:
    """Those keys of a set that can check RS256 or ES256 signatures; others are passed over (RFC 7517 §5)."""
    return tuple(key for one in _listed(document)[:MOST_KEYS] if (key := _key(one)) is not None)


def claims_by(assertion: SignedJwt, keys: Iterable[Key]) -> Mapping[str, Any]:
    """The claims, if one of `keys` has signed them: the one that the assertion names, or any if it names none.

    Raises:
        NotGenuine: none has.
    """
    candidates = [key for key in keys if not assertion.kid or key.kid == assertion.kid]
    for key in candidates[:MOST_TRIED]:
        try:
            return assertion.claims(key, ALGORITHMS)
        except NotGenuine:
            continue
    raise NotGenuine("signature" if candidates else "kid")


class PublishedKeys:
    """Key sets by the URL that their owner publishes them at; those asked for last are kept."""

    def __init__(self, documents: Documents, *, clock: Callable[[], float]) -> None:
        self._documents = documents
        self._clock = clock
        self._sets: OrderedDict[str, RemoteKeys] = OrderedDict()

    async def claims(self, assertion: SignedJwt, jwks_uri: str) -> Mapping[str, Any]:
        """The claims, if the key has signed them that the assertion names and `jwks_uri` has.

        Raises:
            NotGenuine: it has not.
            core.errors.Unavailable: the keys were never there to be fetched.
        """
        if not assertion.kid:
            raise NotGenuine("kid")
        key = await self._set(jwks_uri).find(assertion.kid)
        if key is None:
            raise NotGenuine("kid")
        return assertion.claims(key, ALGORITHMS)

    def _set(self, jwks_uri: str) -> RemoteKeys:
        if jwks_uri not in self._sets:
            self._sets[jwks_uri] = RemoteKeys(jwks_uri, self._fetched, clock=self._clock)
        self._sets.move_to_end(jwks_uri)
        if len(self._sets) > MOST_SETS:
            self._sets.popitem(last=False)
        return self._sets[jwks_uri]

    async def _fetched(self, jwks_uri: str) -> bytes:
        return (await self._documents.read(jwks_uri, MOST_BYTES)).body


def _listed(document: object) -> list[Mapping[str, Any]]:
    keys = cast("Mapping[str, Any]", document).get("keys") if isinstance(document, Mapping) else None
    if not isinstance(keys, list):
        return []
    return [cast("Mapping[str, Any]", key) for key in cast("list[Any]", keys) if isinstance(key, Mapping)]


def _key(data: Mapping[str, Any]) -> Key | None:
    """RSA and P-256 only: what RS256 and ES256 are made with."""
    fits = data.get("kty") == "RSA" or (data.get("kty"), data.get("crv")) == ("EC", "P-256")
    return public_key(data) if fits and data.get("alg", "RS256") in ALGORITHMS else None
