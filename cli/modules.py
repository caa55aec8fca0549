"""Which module a command means."""

from typing import TYPE_CHECKING, Annotated

import typer

from core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from gateway.catalogue import Catalogue
    from modules.kit import Module, VendorApi

ModuleName = Annotated[str, typer.Argument(metavar="MODULE", help="The module's name.")]


def find_installed_module(catalogue: "Catalogue", name: str) -> "Module":
    """The installed module of that name.

    Raises:
        NotFound: there is none; the text has the nearest right name.
    """
    from gateway.argument_validation import find_closest_match

    for module in catalogue.modules:
        if module.name == name:
            return module
    near = find_closest_match(name, list(catalogue.tools))
    hint = f"did you mean {near}?" if near else f"there are: {', '.join(catalogue.tools) or 'none'}"
    raise NotFound(f"there is no module {name[:100]!r}; {hint}")


def get_vendor_api(module: "Module") -> "VendorApi":
    """The vendor behind a module.

    Raises:
        Invalid: it has none.
    """
    if module.vendor is None:
        raise Invalid(f"{module.name} has no vendor: it needs no credential, and there is nothing to set")
    return module.vendor
