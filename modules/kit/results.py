"""Models of results, read from a vendor's own JSON. Empty fields are left out of a result."""

from collections.abc import Mapping, Sequence, Set
from typing import Annotated, Any, ClassVar, TypeVar, cast

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from modules.kit import text_cleaning
from modules.kit.markdown_cleaning import clean_markdown, clean_markdown_block

PAGE_CHARACTERS = 60_000  # of patches or comments: about 20,000 tokens, below what LLM clients cut off


def _clean_line(value: Any) -> Any:
    return text_cleaning.clean_line(value) if isinstance(value, str) else "" if value is None else value


def _clean_file_name(value: Any) -> Any:
    return text_cleaning.clean_name(value) if isinstance(value, str) else value


def _is_empty(value: object) -> bool:
    return not value


def read_at(first: str, *path: str | int) -> Any:
    """Return a field that is read at this place of the vendor's JSON; null on the way counts as missing."""
    return Field(validation_alias=AliasPath(first, *path))


LEFT_OUT_IF_EMPTY = Field(exclude_if=_is_empty)
# `= ""`, `= False` and `= ()` beside these make them optional.
Line = Annotated[str, BeforeValidator(_clean_line)]
Word = Annotated[Line, LEFT_OUT_IF_EMPTY]
Name = Annotated[str, BeforeValidator(_clean_file_name)]
Text = Annotated[str, LEFT_OUT_IF_EMPTY]
Flag = Annotated[bool, BeforeValidator(bool), LEFT_OUT_IF_EMPTY]
Count = Annotated[int, BeforeValidator(lambda value: value or 0), LEFT_OUT_IF_EMPTY]


class ResultModel(BaseModel):
    """A part of a result. Texts named in `longest` are cut there, which sets `truncated`; from those named in
    `markdown_fields`, what a reader of the rendered text would not see is taken out before."""

    model_config = ConfigDict(frozen=True)
    longest: ClassVar[Mapping[str, int]] = {}
    markdown_fields: ClassVar[Set[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _cut(cls, raw: Any) -> Any:
        if not (cls.longest or cls.markdown_fields) or not isinstance(raw, dict):
            return raw
        cleaned = dict(cast("dict[str, Any]", raw))
        for name in cls.markdown_fields - cls.longest.keys():
            cleaned[name] = clean_markdown(cleaned.get(name) or "")
        if cls.longest:
            cleaned["truncated"] = False
        for name, limit in cls.longest.items():
            clean = clean_markdown_block if name in cls.markdown_fields else text_cleaning.clean_block
            cleaned[name], is_cut = clean(cleaned.get(name) or "", limit)
            cleaned["truncated"] |= is_cut
        return cleaned


class ResultPage(ResultModel):
    """One page; `nextCursor` leads to the next, and is missing on the last."""

    nextCursor: Word = ""  # noqa: N815


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
