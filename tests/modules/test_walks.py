"""Every module with a vendor goes through tests/support/tool_walk.py, in its own `test_every_tool.py`."""

from importlib import import_module

import pytest

from gateway.catalogue import load_installed_modules
from tests.support.tool_walk import ToolWalk

VENDORS = [module.name for module in load_installed_modules().modules if module.vendor]


@pytest.mark.parametrize("name", VENDORS)
def test_a_module_has_its_walk(name: str) -> None:
    walk = import_module(f"tests.modules.{name}.test_every_tool").TestEveryTool
    assert issubclass(walk, ToolWalk)
    assert walk.module.name == name
