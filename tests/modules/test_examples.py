"""The example of each tool on its module's page (tools/module_docs.py) is accepted: our code asks the vendor for it."""

from types import SimpleNamespace
from typing import Any, NoReturn

import orjson
import pytest

from gateway.argument_validation import validate_arguments
from gateway.catalogue import CatalogueTool, load_installed_modules
from modules.kit.settings import ModuleSettings
from tools.module_docs import build_example

CATALOGUE = load_installed_modules()
TOOLS = [(module, one) for module in CATALOGUE.modules for one in CATALOGUE.tools[module.name]]
LOCAL = frozenset({"get_project_url"})
"""Tools that answer without asking anybody."""


class Asked(BaseException):
    """The vendor was asked, or the module's own store, or a person."""


class Elsewhere:
    """A vendor and a store that end the call when they are asked for anything."""

    settings = ModuleSettings()

    def request(self, *_args: Any, **_options: Any) -> NoReturn:
        raise Asked

    download = store = get = find = put = list = open = search = list_documents = describe_model = count_tags = request

    async def ask(self, *_args: Any) -> NoReturn:
        raise Asked

    async def confirm(self, *_args: Any, **_options: Any) -> NoReturn:
        raise Asked

    async def get_connection(self) -> dict[str, str]:
        return {"site": "https://acme.atlassian.net"}

    async def get_settings(self, form: type[ModuleSettings]) -> ModuleSettings:
        return form()


@pytest.mark.parametrize(("module", "one"), TOOLS, ids=[one.full_name for _, one in TOOLS])
async def test_the_example_of_a_tool_is_accepted(module: Any, one: CatalogueTool) -> None:
    example = build_example(module, one)
    model = validate_arguments(one, orjson.dumps(example))
    elsewhere = Elsewhere()
    context: Any = SimpleNamespace(
        vendor=elsewhere,
        documents=elsewhere,
        collections=elsewhere,
        store=elsewhere.store,
        get_settings=elsewhere.get_settings,
        confirm=elsewhere.confirm,
        check_read=elsewhere.ask,
        get_time_zone=elsewhere.ask,
    )
    try:
        await one.tool.run(context, **model.__dict__)
    except Asked:
        return
    assert one.tool.name in LOCAL, "nobody was asked"
