"""Settings of a service: declared by its module as a form that a page can draw, set by an administrator for a tenant.

None of them is a secret: they are shown, recorded, and part of exports.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

TRANSLATIONS = "x-translations"
"""Keyword of a setting's JSON Schema: its title and description in further languages, by language tag (BCP 47)."""


class ModuleSettings(BaseModel):
    """Settings of a module. Each is a text, a number, a yes or no, or a list of texts, has a default, and is described
    by :func:`describe_setting`."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def describe_setting(title: str, description: str, *, ja: tuple[str, str], **limits: Any) -> Any:
    """Return the field of a setting: ``timeout: Annotated[int, describe_setting(...)] = 30``.

    `ja` are title and description in Japanese. `limits` are those of a pydantic field, such as ``ge=1, le=100``: a text
    needs `max_length`, a list too, and one of several texts is a ``Literal``. A setting that may be unset is
    ``str | None`` with the default None.
    """

    def change_schema(schema: dict[str, Any]) -> None:
        # What may be unset is drawn as what it is when it is set.
        kinds = [kind for kind in schema.pop("anyOf", ()) if kind.get("type") != "null"]
        if len(kinds) == 1:
            schema.update(kinds[0])
            schema.pop("default", None)
        schema[TRANSLATIONS] = {"ja": dict(zip(("title", "description"), ja, strict=True))}

    return Field(title=title, description=description, json_schema_extra=change_schema, **limits)


class VendorSettings(ModuleSettings):
    """Settings of every service with a vendor; a module may add fields."""

    base_url: Annotated[
        str | None,
        describe_setting(
            "Base URL",
            "Base URL, such as that of an own server",
            ja=("ベースURL", "自社サーバーなど、APIのベースURL"),
            max_length=500,
        ),
    ] = None
    timeout: Annotated[
        float,
        describe_setting(
            "Time limit",
            "Seconds that one request may take",
            ja=("制限時間", "1回のリクエストにかけてよい秒数"),
            ge=1,
            le=300,
        ),
    ] = 30.0
    concurrency: Annotated[
        int,
        describe_setting(
            "Requests at once",
            "Requests at once with one credential",
            ja=("同時リクエスト数", "1つの認証情報で同時に送るリクエストの数"),
            ge=1,
            le=100,
        ),
    ] = 8
