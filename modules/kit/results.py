"""Models of results, read from a vendor's own JSON. Empty fields are left out of a result.

A vendor's answer is read with tolerance: what is missing, or is of another type than documented, costs that field::

    class Calendar(ResultModel):
        id: Identifier                                   # never cut; "" where the vendor gives none
        summary: Word = ""                               # left out where it is empty
        color: Annotated[Word, read_at("colors", "id")] = ""
        members: Missable[int] = None                    # left out where it is missing; 0 is shown

    calendar = read_object(answer, Calendar)
    read = await read_rows(answer, Calendar, answer.read(list[Any]))

A text, list, object or flag without a default is empty then; a number or time without a default cannot be, and costs
its row: give it ``Missable``. A row that is no object, or of which no field can be read, is left out and counted in
`unreadable`; an answer of which nothing can be read is an error.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar, cast, get_origin

from pydantic import (
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue, SkipJsonSchema
from pydantic_core import CoreSchema, core_schema

from modules.kit import text_cleaning
from modules.kit.markup.markdown_cleaning import clean_markdown, clean_markdown_block
from modules.kit.misfits import note_misfit
from modules.kit.vendor import VendorAnswer

PAGE_CHARACTERS = 60_000  # of patches or comments: about 20,000 tokens, below what LLM clients cut off
LARGE_ANSWER_BYTES = 256 * 1024
"""Bytes of an answer from which on others are served between two rows."""


def _clean_line(value: Any) -> Any:
    if not value:
        return "" if value is None else value
    return text_cleaning.clean_line(value) if isinstance(value, str) else value


def _clean_file_name(value: Any) -> Any:
    return text_cleaning.clean_name(value) if isinstance(value, str) else value


def _keep_identifier(value: Any) -> Any:
    return text_cleaning.keep_identifier(value) if isinstance(value, str) else "" if value is None else value


def _clean_url(value: Any) -> Any:
    return text_cleaning.clean_url(value) if isinstance(value, str) else "" if value is None else value


def _is_empty(value: object) -> bool:
    return not value


def read_at(first: str, *path: str | int) -> Any:
    """Return a field that is read at this place of the vendor's JSON; null on the way counts as missing."""
    return Field(validation_alias=AliasPath(first, *path))


def _is_none(value: object) -> bool:
    return value is None


def _drop_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


class _CleanedText:
    """Annotation of a text that `clean` is given where it is longer than `longest` or does not match `pattern`: most
    texts are clean, and a call from pydantic into Python costs more than the look at them."""

    def __init__(self, clean: Callable[[Any], Any], pattern: str, longest: int) -> None:
        self._clean, self._pattern, self._longest = clean, pattern, longest

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        usual = core_schema.str_schema(pattern=self._pattern, max_length=self._longest, strict=True)
        cleaned = core_schema.no_info_before_validator_function(self._clean, handler(source))
        return core_schema.union_schema(
            [usual, cleaned],
            mode="left_to_right",
            custom_error_type="string_type",
            serialization=core_schema.simple_ser_schema("str"),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string"}


Value = TypeVar("Value")
LEFT_OUT_IF_EMPTY = Field(exclude_if=_is_empty)
Missable = Annotated[Value | SkipJsonSchema[None], Field(exclude_if=_is_none, json_schema_extra=_drop_default)]
# `= ""`, `= False` and `= ()` beside these make them optional.
Line = Annotated[str, _CleanedText(_clean_line, text_cleaning.CLEAN_LINE_PATTERN, text_cleaning.MAX_LINE_LENGTH)]
Word = Annotated[Line, LEFT_OUT_IF_EMPTY]
Identifier = Annotated[
    str, _CleanedText(_keep_identifier, text_cleaning.PLAIN_PATTERN, text_cleaning.MAX_IDENTIFIER_LENGTH)
]
OptionalIdentifier = Annotated[Identifier, LEFT_OUT_IF_EMPTY]
Name = Annotated[str, _CleanedText(_clean_file_name, text_cleaning.PLAIN_PATTERN, text_cleaning.MAX_NAME_LENGTH)]
Url = Annotated[str, _CleanedText(_clean_url, text_cleaning.PLAIN_PATTERN, text_cleaning.MAX_URL_LENGTH)]
OptionalUrl = Annotated[Url, LEFT_OUT_IF_EMPTY]
Text = Annotated[str, LEFT_OUT_IF_EMPTY]
Flag = Annotated[bool, BeforeValidator(bool), LEFT_OUT_IF_EMPTY]
Count = Annotated[int, BeforeValidator(lambda value: value or 0), LEFT_OUT_IF_EMPTY]


class ResultModel(BaseModel):
    """A part of a result. Texts named in `longest` are cut there, which sets `truncated`; from those named in
    `markdown_fields`, what a reader of the rendered text would not see is taken out before."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    longest: ClassVar[Mapping[str, int]] = {}
    markdown_fields: ClassVar[Set[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _cut(cls, raw: Any) -> Any:
        if not (cls.longest or cls.markdown_fields) or not isinstance(raw, dict):
            return raw
        cleaned = dict(cast("dict[str, Any]", raw))
        for name in cls.markdown_fields:
            if name not in cls.longest and isinstance(text := cleaned.get(name) or "", str):
                cleaned[name] = clean_markdown(text)
        if cls.longest:
            cleaned["truncated"] = False
        for name, limit in cls.longest.items():
            if not (text := cleaned.get(name)):
                cleaned[name] = ""
            elif isinstance(text, str):
                clean = clean_markdown_block if name in cls.markdown_fields else text_cleaning.clean_block
                cleaned[name], is_cut = clean(text, limit)
                cleaned["truncated"] |= is_cut
        return cleaned


class ResultPage(ResultModel):
    """One page; `nextCursor` leads to the next, and is missing on the last."""

    nextCursor: OptionalIdentifier = ""  # noqa: N815


class ListPage(ResultPage):
    """One page of a vendor's list. `incomplete`: there is more, to which no cursor leads: narrow it down. `unreadable`
    is the number of rows left out because they are not of the documented form."""

    incomplete: Flag = False
    unreadable: Count = 0


class CountedPage(ListPage):
    """One page of a list whose length the vendor gives."""

    total: Missable[int] = None


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


class ReadRows(NamedTuple, Generic[Model]):
    """Rows that were read, and the number of those that could not be."""

    rows: list[Model]
    unreadable: int


async def read_rows(answer: VendorAnswer, shape: type[Model], items: Sequence[Any]) -> ReadRows[Model]:
    """Read what was found in an answer as rows, with tolerance; see above.

    Raises:
        VendorProblem: not one of them could be read.
    """
    rows: list[Model] = []
    for item in items:
        if (row := _read_tolerantly(shape, item)) is not None:
            rows.append(row)
        if len(answer.body) > LARGE_ANSWER_BYTES:
            await asyncio.sleep(0)  # each may hold long texts
    if items and not rows:
        raise answer.build_unreadable_problem()
    return ReadRows(rows, len(items) - len(rows))


def read_object(answer: VendorAnswer, shape: type[Model]) -> Model:
    """Read an answer as one object, with tolerance; see above.

    Raises:
        VendorProblem: it is no JSON object, or nothing in it could be read.
    """
    return read_part(answer, shape, answer.json())


def read_part(answer: VendorAnswer, shape: type[Model], value: Any) -> Model:
    """Read something that was found in an answer, as :func:`read_object` does."""
    found = _read_tolerantly(shape, value)
    if found is None:
        raise answer.build_unreadable_problem()
    return found


def read_each(shape: type[BaseModel]) -> BeforeValidator:
    """Return a validator for a field with a list of `shape`, which reads each of them with tolerance, too; what is no
    object, or has nothing that can be read, is left out."""

    def read(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        found = [_read_tolerantly(shape, one) for one in cast("list[Any]", value)]
        return [one for one in found if one is not None]

    return BeforeValidator(read)


def _read_tolerantly(shape: type[Model], raw: Any) -> Model | None:
    if not isinstance(raw, dict) or not raw:
        return None
    try:
        found = shape.model_validate(raw)
    except _UNREADABLE as error:
        if isinstance(error, ValidationError):
            note_misfit(shape, error)
        try:
            tolerant = cast("type[Model]", _build_tolerant(shape))
            found = tolerant.model_validate(raw)
        except _UNREADABLE:
            return None
    return found if any(getattr(found, name) for name in found.model_fields_set) else None


# The latter come from a shape's own reading of what it did not expect, such as .get() of a text.
_UNREADABLE = (ValidationError, AttributeError, TypeError, LookupError)


@cache
def _build_tolerant(shape: type[BaseModel]) -> type[BaseModel]:
    """Build a subclass of `shape` in which a field that cannot be read has its default, or is empty. It is asked only
    where `shape` has failed, so that usual answers cost nothing more."""
    fields = {name: _make_optional(info) for name, info in shape.model_fields.items()}
    given: dict[str, Any] = {name: field for name, field in fields.items() if field is not None}
    validators: dict[str, Any] = {"use_default": field_validator("*", mode="wrap")(_use_default)}
    return create_model(shape.__name__, __base__=shape, __validators__=validators, **given)


def _use_default(cls: type[BaseModel], value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    try:
        return handler(value)
    except _UNREADABLE:
        field = cls.model_fields[info.field_name or ""]
        if field.is_required():
            raise
        return field.get_default(call_default_factory=True, validated_data=info.data)


_EMPTY: tuple[type, ...] = (str, bool, list, tuple, dict)


def _make_optional(field: FieldInfo) -> Any:
    """A field with the empty value of its type as its default; None where it has a default, or none is empty."""
    kind = get_origin(field.annotation) or field.annotation
    if not field.is_required() or kind not in _EMPTY:
        return None
    return (Annotated[field.annotation, field], cast("type[Any]", kind)())
