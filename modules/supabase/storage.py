"""Storage of a project: buckets and configuration."""

from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import CHANGE_HINTS, READ_HINTS, CursorText, OptionalParameter, PerPage, drop_bounds
from modules.kit.results import Count, CountedPage, Flag, Identifier, Line, ResultModel, Word, read_at
from modules.supabase import rest_client
from modules.supabase.parameters import READ_STORAGE, WRITE_STORAGE, ProjectRef

MAX_FILE_SIZE = 536_870_912_000  # Supabase's own limit
_CONFIG = "/v1/projects/{}/config/storage"


class BucketRow(ResultModel):
    """`name` is missing where it is the id, `public` where it is not."""

    id: Identifier
    name: Word = ""
    public: Flag = False
    created_at: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _drop_name(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", raw)
        return {**found, "name": ""} if found.get("name") == found.get("id") else found


class BucketList(CountedPage):
    buckets: list[BucketRow]


class StorageConfig(ResultModel):
    """`file_size_limit` is in bytes."""

    file_size_limit: Annotated[Count, read_at("fileSizeLimit")] = 0
    image_transformation: Annotated[Flag, read_at("features", "imageTransformation", "enabled")] = False
    s3_protocol: Annotated[Flag, read_at("features", "s3Protocol", "enabled")] = False
    iceberg_catalog: Annotated[Flag, read_at("features", "icebergCatalog", "enabled")] = False
    vector_buckets: Annotated[Flag, read_at("features", "vectorBuckets", "enabled")] = False


class SavedStorageConfig(ResultModel):
    ref: Line
    saved: bool = True


@tool(hints=READ_HINTS, scopes=[READ_STORAGE])
async def list_storage_buckets(
    context: Context, ref: ProjectRef, per_page: PerPage = 100, cursor: CursorText = None
) -> BucketList:
    """Storage buckets, and which are public."""
    address = build_path("/v1/projects/{}/storage/buckets", ref)
    page = await rest_client.fetch_page(context, BucketRow, address, cursor=cursor, per_page=per_page)
    return BucketList(buckets=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_STORAGE])
async def get_storage_config(context: Context, ref: ProjectRef) -> StorageConfig:
    """Storage settings: size limit and features."""
    return await rest_client.fetch(context, StorageConfig, build_path(_CONFIG, ref))


@tool(hints=CHANGE_HINTS, scopes=[WRITE_STORAGE])
async def update_storage_config(
    context: Context,
    ref: ProjectRef,
    file_size_limit: Annotated[
        OptionalParameter[Annotated[int, Field(ge=0, le=MAX_FILE_SIZE, json_schema_extra=drop_bounds)]],
        Field(description="Bytes"),
    ] = None,
    image_transformation: Annotated[OptionalParameter[bool], Field(description="On or off")] = None,
    s3_protocol: Annotated[OptionalParameter[bool], Field(description="On or off")] = None,
) -> SavedStorageConfig:
    """Change storage settings; what is left out stays."""
    switches = {"imageTransformation": image_transformation, "s3Protocol": s3_protocol}
    features = {name: {"enabled": value} for name, value in switches.items() if value is not None}
    body: dict[str, Any] = {"features": features} if features else {}
    if file_size_limit is not None:
        body["fileSizeLimit"] = file_size_limit
    if not body:
        raise ToolError(
            "there is nothing to change: give at least one of file_size_limit, image_transformation, s3_protocol"
        )
    await rest_client.send_change(context, "PATCH", build_path(_CONFIG, ref), json=body)
    return SavedStorageConfig(ref=ref)


TOOLS = (list_storage_buckets, get_storage_config, update_storage_config)
