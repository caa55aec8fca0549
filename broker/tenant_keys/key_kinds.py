"""Kinds of tenant keys, as data: the form of a key, where it may be sent, and the request that tries it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from core.bilingual_text import say
from core.errors import InvalidFields, NotFound

MAX_KEY_LENGTH = 500
_KEY = re.compile(r"[!-~]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class KeyProbe:
    """The smallest request that a key is for. `url` is within the kind's origins, and `body` is sent as JSON; the key
    goes into the header ``Authorization`` as a bearer token."""

    url: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TenantKeyKind:
    """One kind. `prefixes` are how its keys begin; without any, all do. `origins` are all that a key may be sent to.
    `manage_url` is the vendor's page on which its owner makes and ends keys. Without a `probe` no key is tried."""

    name: str
    title: str
    prefixes: tuple[str, ...]
    origins: tuple[str, ...]
    manage_url: str
    probe: KeyProbe | None = None

    def check_form(self, key: str) -> None:
        """Check that a text can be a key of this kind.

        Raises:
            InvalidFields: it cannot; the text of `secret` does not repeat it.
        """
        if not _KEY.fullmatch(key) or len(key) > MAX_KEY_LENGTH:
            problem = say(
                "a {title} key must be one word of at most {most} ASCII characters",
                "{title} のキーは、空白を含まない {most} 文字以内の ASCII 文字列です",
                title=self.title,
                most=MAX_KEY_LENGTH,
            )
            raise InvalidFields({"secret": problem})
        if self.prefixes and not key.startswith(self.prefixes):
            problem = say(
                "a {title} key must begin with {begins}",
                "{title} のキーは {begins} で始まります",
                title=self.title,
                begins=" / ".join(self.prefixes),
            )
            raise InvalidFields({"secret": problem})


# Neither vendor has a free request that every key may make: a restricted key of OpenAI may not list models, and Voyage
# lists none. Embedding one letter costs a token or two, and is what the key is for.
# https://docs.voyageai.com/reference/embeddings-api; a key of Voyage that MongoDB Atlas has issued begins with "al-",
# and is for another host, where search/embedding sends nothing.
# https://platform.openai.com/docs/api-reference/embeddings/create
_ALL = (
    TenantKeyKind(
        "openai",
        "OpenAI",
        ("sk-",),
        ("https://api.openai.com",),
        "https://platform.openai.com/api-keys",
        KeyProbe("https://api.openai.com/v1/embeddings", {"model": "text-embedding-3-small", "input": ["a"]}),
    ),
    TenantKeyKind(
        "voyage",
        "Voyage AI",
        ("pa-",),
        ("https://api.voyageai.com",),
        "https://dashboard.voyageai.com/organization/api-keys",
        KeyProbe("https://api.voyageai.com/v1/embeddings", {"model": "voyage-3.5-lite", "input": ["a"]}),
    ),
)


class TenantKeyKinds:
    """The kinds of one deployment, by name. For tests: other ones."""

    def __init__(self, kinds: Iterable[TenantKeyKind] = _ALL) -> None:
        self._kinds = {kind.name: kind for kind in sorted(kinds, key=lambda kind: kind.name)}

    def list(self) -> tuple[TenantKeyKind, ...]:
        """All kinds, by name."""
        return tuple(self._kinds.values())

    def find(self, name: str) -> TenantKeyKind | None:
        """The kind of this name; None if there is none."""
        return self._kinds.get(name)

    def get(self, name: str) -> TenantKeyKind:
        """The kind of this name.

        Raises:
            NotFound: there is none.
        """
        found = self._kinds.get(name)
        if found is None:
            raise NotFound("there is no such kind of key; `mcpist tenant-key list` shows them")
        return found
