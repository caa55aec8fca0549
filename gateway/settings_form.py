"""Rules for the settings that a module declares: a page has to be able to draw each, in every language."""

from collections.abc import Mapping
from typing import Any

from modules.kit import ModuleSettings, build_json_schema
from modules.kit.settings import TRANSLATIONS

MAX_SETTINGS = 50
MAX_TITLE_LENGTH = 60
MAX_DESCRIPTION_LENGTH = 300
MAX_TEXT_LENGTH = 2_000
MAX_ITEMS = 100
LANGUAGES = ("ja",)
"""Beside English."""


class CatalogueError(Exception):
    """A module breaks a rule of the kit; the product does not start with it."""


def check_settings_form(module: str, form: type[ModuleSettings]) -> None:
    """Check the form of a module's settings.

    Raises:
        CatalogueError: a setting cannot be drawn; the text names it.
    """
    properties: Mapping[str, Any] = build_json_schema(form).get("properties", {})
    if len(properties) > MAX_SETTINGS:
        raise CatalogueError(f"{module}: there are {len(properties)} settings, and {MAX_SETTINGS} are the most")
    for name, schema in properties.items():
        owner = f"{module}: the setting {name}"
        if form.model_fields[name].is_required():
            raise CatalogueError(f"{owner} has no default")
        if not _is_drawable(schema):
            raise CatalogueError(
                f"{owner} must be a text of at most {MAX_TEXT_LENGTH} characters (max_length) or a Literal, a number, "
                f"a bool, or a list of at most {MAX_ITEMS} such texts"
            )
        _check_texts(f"{owner} (en)", schema)
        for language in LANGUAGES:
            _check_texts(f"{owner} ({language})", schema.get(TRANSLATIONS, {}).get(language, {}))


def _check_texts(owner: str, texts: Mapping[str, Any]) -> None:
    for keyword, limit in (("title", MAX_TITLE_LENGTH), ("description", MAX_DESCRIPTION_LENGTH)):
        if not 0 < len(texts.get(keyword, "")) <= limit:
            raise CatalogueError(f"{owner} needs a {keyword} of at most {limit} characters: use describe_setting")


def _is_drawable(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    if kind == "string":
        return "enum" in schema or "const" in schema or schema.get("maxLength", MAX_TEXT_LENGTH + 1) <= MAX_TEXT_LENGTH
    if kind == "array":
        items = schema.get("items", {})
        return (
            items.get("type") == "string" and _is_drawable(items) and schema.get("maxItems", MAX_ITEMS + 1) <= MAX_ITEMS
        )
    return kind in ("integer", "number", "boolean")
