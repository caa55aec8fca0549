"""Models of results, read from GitHub's own JSON. Empty fields are left out of a result."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeVar, cast

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from modules.github import text_cleaning

MAX_NAMES = 100  # GitHub's own limit for labels and assignees
PAGE_CHARACTERS = 60_000  # of patches or comments: about 20,000 tokens, below what LLM clients cut off


def _clean_line(value: Any) -> Any:
    return text_cleaning.clean_line(value) if isinstance(value, str) else "" if value is None else value


def _clean_file_name(value: Any) -> Any:
    return text_cleaning.clean_name(value) if isinstance(value, str) else value


def _is_empty(value: object) -> bool:
    return not value


def read_at(first: str, *path: str | int) -> Any:
    """Return a field that is read at this place of GitHub's JSON; null on the way counts as missing."""
    return Field(validation_alias=AliasPath(first, *path))


_LEFT_OUT = Field(exclude_if=_is_empty)
# `= ""`, `= False` and `= ()` beside these make them optional.
Line = Annotated[str, BeforeValidator(_clean_line)]
Word = Annotated[Line, _LEFT_OUT]
Name = Annotated[str, BeforeValidator(_clean_file_name)]
Text = Annotated[str, _LEFT_OUT]
Flag = Annotated[bool, BeforeValidator(bool), _LEFT_OUT]
Count = Annotated[int, BeforeValidator(lambda value: value or 0), _LEFT_OUT]


class GitHubModel(BaseModel):
    """A part of a result. Texts named in `longest` are cut there, which sets `truncated`."""

    model_config = ConfigDict(frozen=True)
    longest: ClassVar[Mapping[str, int]] = {}

    @model_validator(mode="before")
    @classmethod
    def _cut(cls, raw: Any) -> Any:
        if not cls.longest or not isinstance(raw, dict):
            return raw
        fields = cast("dict[str, Any]", raw)
        shortened = {**fields, "truncated": False}
        for name, limit in cls.longest.items():
            shortened[name], is_cut = text_cleaning.clean_block(fields.get(name) or "", limit)
            shortened["truncated"] |= is_cut
        return shortened


class ResultPage(GitHubModel):
    """One page; `nextCursor` leads to the next, and is missing on the last."""

    nextCursor: Word = ""  # noqa: N815


class FilePatch(GitHubModel):
    """A file in a change. `truncated` says that its patch is longer."""

    longest = {"patch": 20_000}

    filename: Name
    status: Line
    additions: int
    deletions: int
    previous_filename: Annotated[Name, _LEFT_OUT] = ""
    patch: Text = ""
    truncated: Flag = False


Model = TypeVar("Model", bound=BaseModel)


def fit_texts(items: Sequence[Model], field: str, budget: int = PAGE_CHARACTERS) -> list[Model]:
    """`items` with the texts in `field` cut to what all may take together: a smaller page shows more of each."""
    fitting: list[Model] = []
    for item in items:
        text: str = getattr(item, field)
        fitting.append(
            item.model_copy(update={field: text[:budget], "truncated": True}) if len(text) > budget else item
        )
        budget = max(budget - len(text), 0)
    return fitting


def extract_names(value: Any) -> Any:
    """Extract the names of labels or the logins of accounts."""
    if not isinstance(value, list):
        return ()
    return [_extract_name(entry) for entry in cast("list[Any]", value)[:MAX_NAMES]]


def _extract_name(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    owner = cast("Mapping[str, Any]", value)
    return owner.get("login") or owner.get("name")


Names = Annotated[tuple[Line, ...], BeforeValidator(extract_names), _LEFT_OUT]
