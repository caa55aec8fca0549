"""Variables of other memo services: the start says what is there in their place."""

import pytest

from core.config.search import read_search_settings
from server.ignored_variables import warn_of_ignored_variables


def test_each_variable_is_named_with_what_is_in_its_place(caplog: pytest.LogCaptureFixture) -> None:
    environment = {"CHROMA_PATH": "./chroma_db", "MAX_CHUNK_CHARS": "2000", "N_RESULTS_DEFAULT": "7 or so"}
    settings, problems = read_search_settings(environment)
    warn_of_ignored_variables(settings)
    assert problems == []
    assert [record.getMessage() for record in caplog.records] == [
        "CHROMA_PATH has no meaning here: vectors are in PostgreSQL",
        "MAX_CHUNK_CHARS has no meaning here: set max_chunk_chars of the service memo",
        "N_RESULTS_DEFAULT has no meaning here: set default_results of the service memo",
    ]


def test_nothing_is_said_where_none_is_set(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_ignored_variables(read_search_settings({})[0])
    assert caplog.records == []
