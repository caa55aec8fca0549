"""The catalogue of causes: every cause has every text, and every word that a connection can get is in it."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.connect.code_exchange import NO_REACH
from broker.connections.account_snapshot import UnavailableReason
from broker.connections.connection_status import UNREADABLE, HealthState, get_catalogue_word
from broker.connections.credential_selection import READING_ONLY
from broker.oauth_client.types import ErrorClass
from broker.providers.error_reasons import REASONS
from broker.refresh.decision import LOST_ROTATION
from broker.rejections.report import IN_DOUBT
from broker.vault.credential_store import REJECTED
from broker.vault.origin_policy import ORIGIN_CHANGED
from broker.web.i18n import ENGLISH, JAPANESE
from core.connection_causes import CAUSES, OTHER, WARNINGS, Cause
from gateway import connection_messages

WORDS = {
    *REASONS,
    *UnavailableReason,
    *ErrorClass,
    LOST_ROTATION,
    IN_DOUBT,
    REJECTED,
    ORIGIN_CHANGED,
    NO_REACH,
    "ending",
}
WITHOUT = {UnavailableReason.MISSING, READING_ONLY, ErrorClass.SERVICE}
"""No cause of a connection that is there: the first is its absence, the second a limit of one that works, and of the
third the OAuth client has a cause of its own."""
GIVEN_BY = {"NoCredential", "mark_broken", "_mark_broken", "mark_needs_reauth", "classify", "_classify_last_attempt"}
"""Where the broker's code says why: it calls these, or returns from them."""


@pytest.mark.parametrize("word", sorted({*CAUSES, "other"}))
def test_every_cause_has_its_texts_in_both_languages(word: str) -> None:
    cause = CAUSES.get(word, OTHER)
    assert cause.en
    assert not cause.en.endswith(".")
    assert cause.ja.endswith("。")
    assert not cause.ja.isascii()
    assert ENGLISH[f"connect.cause.{word}"].endswith(".")
    assert JAPANESE[f"connect.cause.{word}"] == cause.ja
    assert cause.model or not (cause.transient or word in WARNINGS)
    values = {"title": "Shop", "whose": "your account", "mend": "connect it again", "url": "https://m.test"}
    assert "{" not in cause.model.format(**values)


def test_every_word_that_the_broker_gives_is_in_the_catalogue() -> None:
    assert CAUSES.keys() >= WORDS - WITHOUT
    assert {connection_messages.MISCONFIGURED, connection_messages.ORIGIN_CHANGED, connection_messages.NO_SITE} <= (
        CAUSES.keys()
    )


def test_every_word_in_the_code_is_in_the_catalogue() -> None:
    """A word that was forgotten would be shown as "other", so that nobody missed its texts."""
    found = {word: path.name for path in sorted(Path("broker").rglob("*.py")) for word in find_words(path)}
    assert found.keys() >= {REJECTED, IN_DOUBT, ORIGIN_CHANGED, UNREADABLE, LOST_ROTATION, "permanent"}, "it looks"
    assert {word: name for word, name in found.items() if word not in {*CAUSES, *WITHOUT}} == {}


def find_words(path: Path) -> Iterator[str]:
    """Constants and literals among what is passed to, or returned from, a function in :data:`GIVEN_BY`."""
    tree = ast.parse(path.read_text())
    given: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in GIVEN_BY:
            first = 3 if ast.unparse(node.func) == "NoCredential" else 0  # before it are the module and its state
            given += node.args[first:]
        if isinstance(node, ast.FunctionDef) and node.name in GIVEN_BY:
            given += [
                one.value.elts[1]
                for one in ast.walk(node)
                if isinstance(one, ast.Return) and isinstance(one.value, ast.Tuple)
            ]
    module = importlib.import_module(".".join(path.with_suffix("").parts)) if given else None
    for one in (part for value in given for part in ast.walk(value)):
        if isinstance(one, ast.Name) and one.id.isupper():
            yield getattr(module, one.id)
        elif isinstance(one, ast.Constant) and one in given and isinstance(one.value, str) and one.value:
            yield one.value


def test_what_cannot_be_read_is_our_row_or_the_vendor_s_answer() -> None:
    ours = CAUSES[get_catalogue_word(UNREADABLE, HealthState.NEEDS_RECONNECT)]
    answer: Cause = CAUSES[get_catalogue_word(UNREADABLE, HealthState.VENDOR_DOWN)]
    assert ("database" in ours.en, "answer" in answer.en) == (True, True)
    assert get_catalogue_word("a word of tomorrow", HealthState.NEEDS_RECONNECT) == "other"
