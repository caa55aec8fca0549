"""`mcpist module`: for whoever writes a module as a Python package of its own."""

from typing import Annotated

import typer

from cli.options import JsonOption, create_group
from cli.output import print_line, print_result
from core.errors import Invalid

app = create_group("Modules of other Python packages.")


@app.command("manifest", epilog="Example: mcpist module manifest raindrop_module")
def manifest(
    package: Annotated[str, typer.Argument(metavar="PACKAGE", help="The import package, which exports MODULE.")],
    as_json: JsonOption = False,
) -> None:
    """Write the manifest of a package's module into the package.

    It is what parts of MCPist that run no module's code know of it; it is written anew after every change of a
    declaration, and shipped as package data. The package has to be importable: installed, or in PYTHONPATH.
    """
    import importlib
    from pathlib import Path

    from core.module_manifest import MANIFEST_FILE, encode_module_manifest
    from gateway.catalogue import CatalogueError, build_catalogue, check_schemas
    from gateway.module_manifests import build_module_manifests
    from modules.kit import Module

    try:
        imported = importlib.import_module(package)
    except ImportError as error:
        raise Invalid(f"{package[:100]!r} cannot be imported: {error}") from None
    module: object = getattr(imported, "MODULE", None)
    if not isinstance(module, Module) or imported.__file__ is None:
        raise Invalid(f"{package} exports no MODULE that is a modules.kit.Module")
    try:
        catalogue = build_catalogue([module])
        check_schemas(catalogue)
    except CatalogueError as error:
        raise Invalid(f"{package}: {error}") from None
    (made,) = build_module_manifests(catalogue)
    path = Path(imported.__file__).with_name(MANIFEST_FILE)
    path.write_bytes(encode_module_manifest(made))
    document = {"module": made.name, "tools": len(made.tools), "path": str(path)}
    print_result(as_json, document, lambda: print_line(f"{path}: {made.name}, {len(made.tools)} tools."))
