"""SQ: how often the built-in engine finds what people ask, beside other methods over the same vectors and tokens.

The questions and documents are those of tests/search/quality; of the large set the half that is held out.
"""

from collections.abc import Iterator

from tests.bench.lab import Lab
from tests.bench.report import Result, Row
from tests.search.quality.documents import LANGUAGES, PACKAGES, Question, has_debian_documents, read_company_questions
from tests.search.quality.measured import Indexes, index_company, index_debian, list_debian_questions, measure_method
from tests.search.quality.memory_search import METHODS, Quality

TITLES = {"en": "English", "ja": "Japanese"}


def measure(lab: Lab) -> list[Result]:
    """Measure every method by hit@1, hit@3 and MRR, in both languages."""
    rows: list[Row] = []
    if has_debian_documents():
        for language in LANGUAGES:
            questions = list_debian_questions(language, "held out")
            rows += _compare("Debian's manuals", language, index_debian(), questions, judged=True)
    else:
        lab.progress(f"SQ leaves out Debian's manuals; install them (apt-get install {' '.join(PACKAGES)})")
    for language in LANGUAGES:
        questions = [one for one in read_company_questions() if one.language == language]
        rows += _compare("company", language, index_company(), questions, judged=False)
    return [Result(tuple(rows))]


def _compare(name: str, language: str, indexes: Indexes, questions: list[Question], *, judged: bool) -> Iterator[Row]:
    """Where it is `judged`, ours has to be within one question of the best of the others, and best in MRR."""
    found = {method: measure_method(indexes, questions, method) for method in METHODS}
    others = [quality for method, quality in found.items() if method != "ours"]
    for column, unit in (("first", "hit@1"), ("in_three", "hit@3"), ("mrr", "MRR")):
        best = max(_read(quality, column) for quality in others)
        allowed = 1 / len(questions) if column != "mrr" else 0.0
        for method, quality in found.items():
            budget = (best - allowed, best) if judged and method == "ours" else (None, None)
            what = f"{name}, {TITLES[language]}, {len(questions)} questions: {method}"
            yield Row("SQ", what, unit, (_read(quality, column),), *budget)


def _read(quality: Quality, column: str) -> float:
    return quality.mrr if column == "mrr" else getattr(quality, column) / quality.questions
