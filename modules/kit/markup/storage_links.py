"""Links and pictures of Confluence's storage format: pages, people, spaces and files by their names."""

import re
from urllib.parse import quote, unquote

from modules.kit.markup.markdown_runs import Inline, Mark
from modules.kit.markup.markup_tree import Element
from modules.kit.markup.storage_markup import make_raw_run

IMAGE_HINTS = ("ac:width", "ac:height", "ac:align", "ac:layout", "ac:border", "ac:thumbnail")
_RESOURCE_NOISE = frozenset({"ri:version-at-save", "ri:local-id", "ri:userkey"})
_ODD_SIGN = re.compile(r"[\s%#/()<>\\&\[\]*_`!\"]")


def read_picture(image: Element, marks: tuple[Mark, ...]) -> Inline:
    targets = [one for one in image.children if isinstance(one, Element)]
    target = targets[0] if len(targets) == 1 else None
    if target is None or target.children:
        return make_raw_run(image, marks)
    hints = " ".join(f"{name[3:]}={image.attributes[name]}" for name in IMAGE_HINTS if name in image.attributes)
    alternative = image.attributes.get("ac:alt", "")
    if target.name == "ri:attachment":
        address = quote_name("attachment", target.attributes.get("ri:filename", ""))
        return Inline("image", alternative, marks, address, hints)
    address = target.attributes.get("ri:value", "")
    if target.name != "ri:url" or not address.startswith(("http://", "https://")):
        return make_raw_run(image, marks)
    return Inline("image", alternative, marks, address, hints)


def quote_name(kind: str, name: str) -> str:
    """An address of a page, a file or another thing by its name."""
    return f"{kind}:{_ODD_SIGN.sub(lambda found: quote(found[0], safe=''), name)}"


def get_default_text(address: str) -> str:
    kind, _, name = address.partition(":")
    if kind == "user":
        return "@user"
    return unquote(name.partition("#")[0].rpartition("/")[2] if kind == "page" else name) or address


def get_address(link: Element, targets: list[Element]) -> str:
    """The address of a link to something in Confluence; empty where Markdown has no form for it."""
    anchor = link.attributes.get("ac:anchor", "")
    behind = f"#{_ODD_SIGN.sub(lambda found: quote(found[0], safe=''), anchor)}" if anchor else ""
    if set(link.attributes) - {"ac:anchor"} or len(targets) > 1 or (targets and targets[0].children):
        return ""
    if not targets:
        return behind
    values = {name: one for name, one in targets[0].attributes.items() if name not in _RESOURCE_NOISE}
    match targets[0].name, sorted(values):
        case "ri:page", ["ri:content-title"]:
            return quote_name("page", "") + "/" + quote_name("", values["ri:content-title"])[1:] + behind
        case "ri:page", ["ri:content-title", "ri:space-key"]:
            space = quote_name("page", values["ri:space-key"])
            return space + "/" + quote_name("", values["ri:content-title"])[1:] + behind
        case "ri:user", ["ri:account-id"] if not anchor:
            return quote_name("user", values["ri:account-id"])
        case "ri:space", ["ri:space-key"] if not anchor:
            return quote_name("space", values["ri:space-key"])
        case "ri:attachment", ["ri:filename"] if not anchor:
            return quote_name("attachment", values["ri:filename"])
        case _:
            return ""
