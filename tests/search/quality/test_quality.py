"""What people ask is found: floors for how often, in both languages, so that no change makes search worse unseen.

The half that is held out has floors as the other one. Whoever makes search better looks at the tuned half alone.
"""

from pathlib import Path

import pytest

from tests.search.quality.documents import (
    LANGUAGES,
    LEAST_PASSAGES,
    PACKAGES,
    Half,
    has_debian_documents,
    read_company_questions,
    read_debian_questions,
)
from tests.search.quality.measured import Indexes, index_company, index_debian, list_debian_questions, measure_method
from tests.search.quality.memory_search import Quality

COMPANY_FLOORS = {"en": Quality(20, 16, 18, 0.84), "ja": Quality(20, 16, 18, 0.86)}
DEBIAN_FLOORS: dict[tuple[str, Half], Quality] = {
    ("en", "tuned"): Quality(61, 40, 51, 0.75),
    ("ja", "tuned"): Quality(60, 37, 42, 0.69),
    ("en", "held out"): Quality(53, 29, 37, 0.64),
    ("ja", "held out"): Quality(54, 38, 41, 0.75),
}


LEAST_QUESTIONS = 200


@pytest.fixture
def kept(request: pytest.FixtureRequest) -> Path:
    """Where vectors are kept: in the folder of pytest's cache, which no clone has at first."""
    cache = request.config.cache
    assert cache is not None
    return cache.mkdir("search-quality")


def assert_reaches(found: Quality, floor: Quality) -> None:
    assert found.questions == floor.questions
    assert found.first >= floor.first, found
    assert found.in_three >= floor.in_three, found
    assert found.mrr >= floor.mrr, found


@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_of_a_company(language: str, kept: Path) -> None:
    questions = [one for one in read_company_questions() if one.language == language]
    indexes = index_company(kept)
    assert_reaches(measure_method(indexes, questions, "ours"), COMPANY_FLOORS[language])
    plain = measure_method(indexes, questions, "plain vectors")
    assert measure_method(indexes, questions, "ours").mrr >= plain.mrr - 0.005  # words never cost what meaning finds


@pytest.mark.timeout(300)
def test_questions_of_manuals(kept: Path) -> None:
    """All of it in one test: its documents are embedded once a process, and tests of a file may run in two."""
    if not has_debian_documents():
        pytest.skip(f"DEBIAN'S MANUALS ARE MISSING, search was tried on few documents; install {' '.join(PACKAGES)}")
    indexes = index_debian(kept)
    assert_set_is_whole(indexes)
    found = {key: measure_method(indexes, list_debian_questions(*key), "ours") for key in DEBIAN_FLOORS}
    print(found)
    for key, floor in DEBIAN_FLOORS.items():
        assert_reaches(found[key], floor)


def assert_set_is_whole(indexes: Indexes) -> None:
    """The set is as large as it has to be, and every answer is a passage of it."""
    assert all(len(index.passages) >= LEAST_PASSAGES for index in indexes.values())
    names = {language: {one.id for one in index.passages} for language, index in indexes.items()}
    questions = read_debian_questions()
    assert len(questions) >= LEAST_QUESTIONS
    assert len({(one.language, one.text) for one in questions}) == len(questions)
    assert not [one.text for one in questions if one.answer not in names[one.among]]
