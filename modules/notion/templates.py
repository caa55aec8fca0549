"""Templates of data sources (https://developers.notion.com/docs/creating-pages-from-templates)."""

from typing import Any

from pydantic import BaseModel

from modules.kit import Context, ToolError, build_path
from modules.kit.text_cleaning import clean_line
from modules.notion import rest_client

DEFAULT = "default"


class _VendorTemplate(BaseModel):
    id: str
    name: str


async def find_template(context: Context, data_source_id: str, name: str) -> dict[str, Any]:
    """Find a template by its name, as a new page names it; ``default`` is the one that people get.

    Raises:
        ToolError: there is none of that name, or several.
    """
    if name.casefold() == DEFAULT:
        return {"type": DEFAULT}
    address = build_path("/v1/data_sources/{}/templates", data_source_id)
    # Notion takes the name for a part of names.
    answer = await rest_client.send_request(context, "GET", address, query={"name": name, "page_size": 100})
    templates = answer.read_part(list[_VendorTemplate], answer.read(dict[str, Any]).get("templates"))
    named = [one for one in templates if one.name.casefold() == name.casefold()]
    if len(named) != 1:
        similar = ", ".join(clean_line(one.name)[:60] for one in templates[:10])
        hint = f"; similar: {similar}" if similar else ""
        raise ToolError(f"template: the data source has {len(named)} templates of that name, not one{hint}")
    return {"type": "template_id", "template_id": named[0].id}
