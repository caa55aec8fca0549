"""Print what a model is shown."""

from collections.abc import Mapping
from typing import Any

from cli.output import print_line, print_result, print_table


def print_model_view(view: Mapping[str, Any], as_json: bool) -> None:
    """Print the modules and the cost in tokens of a model's view, as the admin API answers it."""
    rows = [(module["module"], len(module["tools"]), module["estimated_tokens"]) for module in view["modules"]]

    def print_text() -> None:
        print_table(("Module", "Tools", "Tokens of its schemas"), rows, empty="No tool exists for it.")
        start, schemas = view["estimated_start_tokens"], view["estimated_schema_tokens"]
        plain, cost = len(view["plain_tools"]), view["estimated_plain_tokens"]
        print_line(f"Tools are shown as {view['tool_exposure']}; the plain view has {plain}, about {cost} tokens.")
        print_line(f"About {start} tokens at the start, {schemas} more if the schemas of all modules are read.")

    print_result(as_json, view, print_text)
