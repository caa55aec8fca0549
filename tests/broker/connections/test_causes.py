"""The catalogue of causes: every cause has every text, and every word that a connection can get is in it."""

import pytest

from broker.connections.account_snapshot import UnavailableReason
from broker.connections.connection_status import UNREADABLE, HealthState, get_catalogue_word
from broker.connections.credential_selection import READING_ONLY
from broker.providers.error_reasons import REASONS
from broker.refresh.decision import LOST_ROTATION
from broker.rejections.report import IN_DOUBT
from broker.vault.credential_store import REJECTED
from broker.vault.origin_policy import ORIGIN_CHANGED
from broker.web.i18n import ENGLISH, JAPANESE
from core.connection_causes import CAUSES, OTHER, WARNINGS, Cause
from gateway import connection_messages

WORDS = {*REASONS, *UnavailableReason, LOST_ROTATION, IN_DOUBT, REJECTED, ORIGIN_CHANGED, "no_reach", "ending"}
WITHOUT = {UnavailableReason.MISSING, READING_ONLY}
"""No cause of a connection that is there: the first is its absence, the second a limit of one that works."""


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


def test_what_cannot_be_read_is_our_row_or_the_vendor_s_answer() -> None:
    ours = CAUSES[get_catalogue_word(UNREADABLE, HealthState.NEEDS_RECONNECT)]
    answer: Cause = CAUSES[get_catalogue_word(UNREADABLE, HealthState.VENDOR_DOWN)]
    assert ("database" in ours.en, "answer" in answer.en) == (True, True)
    assert get_catalogue_word("a word of tomorrow", HealthState.NEEDS_RECONNECT) == "other"
