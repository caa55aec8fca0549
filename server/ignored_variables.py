"""Variables of other memo services that have no meaning here: the start names what is there in their place."""

import logging

from core.config.search import SearchSettings

log = logging.getLogger(__name__)


def warn_of_ignored_variables(search: SearchSettings) -> None:
    """Log a warning for each of them that is set."""
    if search.chroma_path:
        log.warning(
            "CHROMA_PATH has no meaning here: vectors are in PostgreSQL", extra={"event": "chroma_path_ignored"}
        )
    for variable, value, setting in (
        ("MAX_CHUNK_CHARS", search.max_chunk_chars, "max_chunk_chars"),
        ("N_RESULTS_DEFAULT", search.default_results, "default_results"),
    ):
        if value:
            log.warning(
                "%s has no meaning here: set %s of the service memo",
                variable,
                setting,
                extra={"event": "memo_variable_ignored"},
            )
