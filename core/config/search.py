"""Variables of the embedding models, under the names that people know from services of this kind."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.config import parsers as values
from core.config.env import declare_setting, read_environment
from core.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Settings of the search engine: which model embeds the texts of new collections, and by what."""

    model: str = declare_setting(
        "EMBED_MODEL",
        values.parse_model_name,
        "the name of a model, such as voyage-3-lite or cl-nagoya/ruri-v3-30m",
        "The embedding model of new collections. One of Voyage needs `VOYAGE_API_KEY`; one of a hub needs the extra "
        "`sentence-transformers`.",
        "",
        shown_default="the model that comes with MCPist: offline, Japanese and English",
    )
    device: str = declare_setting(
        "DEVICE", values.make_choice_parser("cpu", "cuda"), "cpu or cuda", "Where a model of a hub runs.", "cpu"
    )
    threads: int = declare_setting(
        "EMBED_THREAD_WORKERS",
        values.make_integer_parser(1, 64),
        "a whole number from 1 to 64",
        "Threads that embed texts.",
        2,
    )
    voyage_key: Secret | None = declare_setting(  # noqa: RUF009 - it makes a dataclasses.field
        "VOYAGE_API_KEY",
        values.wrap_secret,
        "an API key of Voyage AI",
        "For models of Voyage: the deployment's key. Texts of such collections are sent to Voyage.",
        None,
        shown_default="no key",
        secret=True,
    )
    chroma_path: str = declare_setting(
        "CHROMA_PATH",
        str,
        "a folder",
        "Where other memo services keep their vectors. It has no meaning here: they are in the database. The start "
        "logs `chroma_path_ignored`.",
        "",
        shown_default="not set",
    )
    max_chunk_chars: str = declare_setting(
        "MAX_CHUNK_CHARS",
        str,
        "a whole number",
        "How other memo services divide texts. It has no meaning here: it is the setting `max_chunk_chars` of the "
        "service `memo`, in each tenant. The start logs `memo_variable_ignored`.",
        "",
        shown_default="not set",
    )
    default_results: str = declare_setting(
        "N_RESULTS_DEFAULT",
        str,
        "a whole number",
        "How many results other memo services give. It has no meaning here: it is the setting `default_results` of the "
        "service `memo`, in each tenant. The start logs `memo_variable_ignored`.",
        "",
        shown_default="not set",
    )


def read_search_settings(environment: Mapping[str, str]) -> tuple[SearchSettings, list[str]]:
    """Read the settings and the problems in them."""
    field_values, problems = read_environment(SearchSettings, environment)
    return SearchSettings(**field_values), problems
