"""A module that breaks a rule does not get into the product; no text tells of a tool that its reader may not have."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import Field, RootModel, create_model

import modules
from gateway.catalogue import (
    MAX_LINE_LENGTH,
    Catalogue,
    CatalogueError,
    build_catalogue,
    check_schemas,
    load_installed_modules,
)
from modules.kit import (
    AccountRequest,
    Context,
    Hints,
    Module,
    ModuleSettings,
    ParameterSample,
    Tool,
    VendorApi,
    build_json_schema,
    describe_setting,
    tool,
)
from tests.support.toy_modules import READS, Said

Text = Annotated[str, Field(description="A text")]


async def good(context: Context, text: Text = "") -> Said:
    """Do what it should."""
    return Said(said=text)


def made(function: Any = good, **changes: Any) -> Tool:
    return tool(**{"hints": READS, "scopes": ["toy"], **changes})(function)


def module_of(*tools: Tool, **changes: Any) -> Module:
    return replace(Module("toy", "Toy", "One line.", frozenset({"toy"}), tools), **changes)


def test_a_good_module_is_taken() -> None:
    catalogue = build_catalogue([module_of(made())])
    assert [one.tool.name for one in catalogue.tools["toy"]] == ["good"]


def test_hints_and_scopes_have_no_default() -> None:
    anything = cast("Any", tool)
    for options in ({}, {"hints": READS}, {"scopes": ["toy"]}):
        with pytest.raises(TypeError, match="required keyword-only"):
            anything(**options)


@pytest.mark.parametrize("missing", ["read_only", "destructive", "idempotent", "open_world"])
def test_every_hint_is_stated(missing: str) -> None:
    stated: Any = {"read_only": True, "destructive": False, "idempotent": True, "open_world": False}
    del stated[missing]
    with pytest.raises(TypeError, match=missing):
        Hints(**stated)


async def undescribed(context: Context) -> Said:
    return Said(said="")


async def untyped(context: Context, text) -> Said:  # type: ignore[no-untyped-def]
    """Described."""
    return Said(said=text)


async def half_described(context: Context, text: str) -> Said:
    """Described."""
    return Said(said=text)


async def shapeless(context: Context) -> dict[str, str]:
    """Described."""
    return {}


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (undescribed, "a docstring is missing"),
        (untyped, "parameter text has no type"),
        (half_described, "parameter text has no description"),
        (shapeless, "returns a pydantic model"),
    ],
)
def test_a_declaration_that_forgets_something_is_none(function: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        made(function)


class Either(RootModel[int | str]):
    """A schema with anyOf at its top."""


@pytest.mark.parametrize(
    ("module", "told"),
    [
        (module_of(made(), name="Toy"), "does not match"),
        (module_of(made(), name="../toy"), "does not match"),
        (module_of(made(), description=""), "one line of at most"),
        (module_of(made(), description="One\nline."), "one line of at most"),
        (module_of(made(), description="x" * (MAX_LINE_LENGTH + 1)), "one line of at most"),
        (module_of(made(), made()), "share a name"),
        (module_of(made(), replace(made(), name="other", aliases=("good",))), "share a name"),
        (module_of(made(scopes=[])), "tool scopes must be among"),
        (module_of(made(scopes=["other"])), "tool scopes must be among"),
        (module_of(made(aliases=["Bad-Name"])), "tool names must match"),
        (module_of(made(hints=Hints(True, True, True, False))), "a read-only tool cannot be destructive"),
        (module_of(made(), samples={"page_id": ParameterSample("x")}), "no parameter 'page_id'"),
        (module_of(made(), samples={"other.text": ParameterSample("x")}), "no parameter 'other.text'"),
        (module_of(made(), samples={"text": ParameterSample("x", "gone", "/said")}), "which is no reading tool"),
    ],
)
def test_a_module_that_breaks_a_rule_is_refused(module: Module, told: str) -> None:
    with pytest.raises(CatalogueError, match=told):
        build_catalogue([module])


def test_a_schema_with_alternatives_at_its_top_is_refused() -> None:
    with pytest.raises(CatalogueError, match=r"toy\.good: a schema must not have anyOf, oneOf or allOf"):
        check_schemas(build_catalogue([module_of(replace(made(), arguments=Either))]))


def test_the_schemas_of_the_products_own_modules_are_good(catalogue: Catalogue) -> None:
    check_schemas(catalogue)


def test_two_modules_of_one_name_are_refused() -> None:
    with pytest.raises(CatalogueError, match="two modules share a name"):
        build_catalogue([module_of(made()), module_of(made())])


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_installed_modules()


def names_to_look_for(catalogue: Catalogue) -> set[str]:
    """Names that are no words of their own: a text that holds one speaks of the tool."""
    tools = [one.tool for of_module in catalogue.tools.values() for one in of_module]
    names = {name for one in tools for name in (one.name, *one.aliases)}
    return {name for name in names if "_" in name}


def descriptions(schema: Any) -> Iterator[str]:
    """Every description, title and example in a schema."""
    if isinstance(schema, dict):
        for key, value in cast("dict[str, Any]", schema).items():
            if key in ("description", "title", "examples", "default") and not isinstance(value, dict):
                yield str(value)
            yield from descriptions(value)
    elif isinstance(schema, list):
        for value in cast("list[Any]", schema):
            yield from descriptions(value)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z][a-z0-9_]*", text))


def test_no_description_names_another_tool(catalogue: Catalogue) -> None:
    named = {
        f"{one.module}.{one.tool.name}": found
        for of_module in catalogue.tools.values()
        for one in of_module
        if (found := words(" ".join(_texts(one))) & names_to_look_for(catalogue) - {one.tool.name})
    }
    assert named == {}


def _texts(one: Any) -> Iterator[str]:
    yield one.tool.description
    yield from descriptions(one.input_schema)
    yield from descriptions(one.output_schema)


def test_no_line_of_a_module_names_a_tool(catalogue: Catalogue) -> None:
    lines = " ".join(module.description for module in catalogue.modules)
    assert words(lines) & names_to_look_for(catalogue) == set()


def test_no_text_in_a_module_s_code_names_a_tool(catalogue: Catalogue) -> None:
    """What a tool answers is put together from these; a whole name alone, or with a parameter's, is a declaration."""
    root = Path(modules.__path__[0])
    texts = [
        (path.name, node.value)
        for module in catalogue.modules
        for path in sorted((root / module.name).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    names = names_to_look_for(catalogue)
    reads = {name for of_module in catalogue.tools.values() for one in of_module for name in one.tool.reads}
    named = [
        (where, text)
        for where, text in texts
        if words(text) & names and text.partition(".")[0] not in names and text not in reads
    ]
    assert named == []


def test_the_search_for_names_finds_one() -> None:
    assert words("ask read_graph, then stop") & {"read_graph"}
    assert not words("already_graphed") & {"read_graph"}


MAX_ERRORS = 200
"""Of one call; each may cost 30 µs in a validator of Python, and the process does nothing else meanwhile."""


def test_the_errors_of_one_call_are_limited(catalogue: Catalogue) -> None:
    """A list without a bound, or lists within lists, need `fail_fast=True`."""
    errors = {
        f"{one.module}.{one.tool.name}": most_errors(cast("Any", one.tool.arguments).__pydantic_core_schema__)
        for of_module in catalogue.tools.values()
        for one in of_module
    }
    assert {name: number for name, number in errors.items() if number > MAX_ERRORS} == {}


def most_errors(schema: Any, definitions: dict[str, Any] | None = None) -> float:
    """How many errors a value can have at most, unknown fields not counted."""
    known = dict(definitions or {})
    kind = schema["type"]
    if kind == "definitions":
        known |= {one["ref"]: one for one in schema["definitions"]}
        return most_errors(schema["schema"], known)
    if kind == "definition-ref":
        return most_errors(known[schema["schema_ref"]], known)
    if kind == "list":
        items = most_errors(schema["items_schema"], known) if "items_schema" in schema else 0
        return items if schema.get("fail_fast") else items * schema.get("max_length", float("inf"))
    if kind == "dict":
        values = most_errors(schema["values_schema"], known) if "values_schema" in schema else 0
        return values and values * schema.get("max_length", float("inf"))
    if kind == "any":
        return 0
    if kind == "model-fields":
        return sum(most_errors(field, known) for field in schema["fields"].values())
    if kind in ("union", "tagged-union"):
        choices = schema["choices"]
        options = choices.values() if isinstance(choices, dict) else choices
        return sum(most_errors(one[0] if isinstance(one, tuple) else one, known) for one in options)
    if "schema" in schema and isinstance(schema["schema"], dict):
        return most_errors(schema["schema"], known)
    assert kind in ("str", "int", "float", "bool", "literal", "enum", "datetime", "date", "none"), f"count {kind} too"
    return 1


@pytest.mark.parametrize(
    ("annotation", "number"),
    [
        (Annotated[list[str], Field(max_length=7)], 7),
        (list[str], float("inf")),
        (Annotated[list[Annotated[list[str], Field(max_length=7)]], Field(max_length=3)], 21),
        (Annotated[list[Annotated[list[str], Field(max_length=7)]], Field(max_length=3, fail_fast=True)], 7),
        (Annotated[str | None, Field(max_length=3)], 1),
        (dict[str, Any], 0),
        (dict[str, int], float("inf")),
        (Annotated[dict[str, int], Field(max_length=7)], 7),
    ],
)
def test_the_count_of_errors(annotation: Any, number: float) -> None:
    async def taking(context: Context, text: str) -> Said:
        """Take it."""
        return Said(said="")

    taking.__annotations__["text"] = Annotated[annotation, Field(description="It")]
    assert most_errors(cast("Any", made(taking).arguments).__pydantic_core_schema__) == number


class Described(ModuleSettings):
    """Every kind of setting."""

    word: Annotated[str, describe_setting("Word", "A word", ja=("語", "語句"), max_length=10)] = "x"
    kind: Annotated[Literal["a", "b"], describe_setting("Kind", "A or b", ja=("種類", "aまたはb"))] = "a"
    link: Annotated[str | None, describe_setting("Link", "A link", ja=("リンク", "リンク先"), max_length=10)] = None
    ratio: Annotated[float, describe_setting("Ratio", "A ratio", ja=("比率", "比率"), ge=0, le=1)] = 0.5
    quiet: Annotated[bool, describe_setting("Quiet", "No mail", ja=("静か", "メールなし"))] = False
    words: Annotated[
        tuple[Annotated[str, Field(max_length=10)], ...],
        describe_setting("Words", "Some words", ja=("語句", "いくつかの語句"), max_length=5),
    ] = ()


def test_every_kind_of_setting_is_drawn() -> None:
    (module,) = build_catalogue([module_of(made(), settings=Described)]).modules
    assert module.settings_form is not None
    properties = build_json_schema(module.settings_form)["properties"]
    assert {name: schema["type"] for name, schema in properties.items()} == {
        "word": "string",
        "kind": "string",
        "link": "string",
        "ratio": "number",
        "quiet": "boolean",
        "words": "array",
    }
    assert properties["word"]["x-translations"] == {"ja": {"title": "語", "description": "語句"}}
    assert "default" not in properties["link"]


GOOD: dict[str, Any] = {"title": "T", "description": "D", "ja": ("タ", "デ"), "max_length": 10}


@pytest.mark.parametrize(
    ("field", "told"),
    [
        (Annotated[str, Field(description="A word", max_length=10)], "title"),
        (Annotated[str, Field(title="Word", description="A word", max_length=10)], r"\(ja\) needs a title"),
        (Annotated[str, describe_setting(**{**GOOD, "title": "x" * 61})], "at most 60"),
        (Annotated[str, describe_setting(**{**GOOD, "ja": ("", "x")})], r"\(ja\) needs a title"),
        (Annotated[str, describe_setting(**{**GOOD, "max_length": 10**6})], "must be a text of at most"),
        (Annotated[dict[str, str], describe_setting(**GOOD)], "must be a text of at most"),
        (Annotated[list[int], describe_setting(**GOOD)], "must be a text of at most"),
        (Annotated[str | int, describe_setting("T", "D", ja=("タ", "デ"))], "must be a text of at most"),
    ],
)
def test_a_setting_that_no_page_can_draw_is_refused(field: Any, told: str) -> None:
    form = create_model("Form", __base__=ModuleSettings, word=(field, "x"))
    with pytest.raises(CatalogueError, match=told):
        build_catalogue([module_of(made(), settings=form)])


def test_a_setting_has_a_default() -> None:
    form = create_model("Form", __base__=ModuleSettings, word=(Annotated[str, describe_setting(**GOOD)], ...))
    with pytest.raises(CatalogueError, match="no default"):
        build_catalogue([module_of(made(), settings=form)])


def test_settings_are_declared_in_one_place() -> None:
    vendor = VendorApi("https://shop.example", AccountRequest("/me", "/name"))
    with pytest.raises(TypeError, match=r"VendorApi\.settings"):
        module_of(made(), vendor=vendor, settings=Described)
