"""Write the tables of docs/configuration.md from the settings classes: python -m tools.configuration_doc."""

import re
from pathlib import Path
from typing import Any

from core.config.env import EnvironmentVariable, list_variables
from core.config.search import SearchSettings
from core.config.settings import Settings
from core.config.tracing import TracingSettings

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"
CLASSES: dict[str, type[Any]] = {"settings": Settings, "tracing": TracingSettings, "search": SearchSettings}


def render(page: str) -> str:
    """The page with every table between ``<!-- table: name -->`` and ``<!-- end -->`` made anew."""
    for name, settings in CLASSES.items():
        rows = "\n".join(_row(variable) for variable in list_variables(settings).values())
        table = f"| variable | meaning | form | default |\n|---|---|---|---|\n{rows}"
        begin, end = f"<!-- table: {name} -->", "<!-- end -->"
        pattern = f"{re.escape(begin)}.*?{re.escape(end)}"
        page = re.sub(pattern, lambda _, text=f"{begin}\n{table}\n{end}": text, page, flags=re.DOTALL)
    return page


def _row(variable: EnvironmentVariable) -> str:
    default = variable.default if " " in variable.default or "`" in variable.default else f"`{variable.default}`"
    return f"| `{variable.name}` | {variable.description} | {variable.requirement} | {default} |"


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
