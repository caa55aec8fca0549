"""Icons of modules: a line drawing on a coloured tile, which looks alike on light and dark grounds."""

import re
from dataclasses import dataclass

_COLOUR = re.compile(r"#[0-9a-f]{6}")
_LINES = re.compile(r"[MmLlHhVvCcSsQqTtAaZz0-9 .,-]{1,400}")
_DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="5" fill="{colour}"/>'
    '<path d="{lines}" fill="none" stroke="#fff" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"/>'
    "</svg>"
)


@dataclass(frozen=True, slots=True)
class Icon:
    """An icon of 24 by 24 units: the `colour` of its tile, as ``#rrggbb``, and white `lines`, as the data of an SVG
    path. A module cannot give a picture of another form, since clients may run what is in an SVG.

    Raises:
        ValueError: one of them is of another form, or the lines have over 400 characters.
    """

    colour: str
    lines: str

    def __post_init__(self) -> None:
        if not _COLOUR.fullmatch(self.colour):
            raise ValueError("the colour of an icon is #rrggbb, in small letters")
        if not _LINES.fullmatch(self.lines):
            raise ValueError("the lines of an icon are the data of an SVG path, of at most 400 characters")

    def draw(self) -> str:
        """Draw the icon as SVG."""
        return _DRAWING.format(colour=self.colour, lines=self.lines)
