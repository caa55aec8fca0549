"""A place in a line of Markdown, whose white space is counted in columns."""

from modules.kit.markup.markdown_tree import SourceLine

_TAB = 4


class LineCursor:
    """A place in a line. A tab reaches to the next multiple of 4 columns; `spare` are columns left of a tab that was
    taken in part."""

    __slots__ = ("column", "line", "place", "spare")

    def __init__(self, line: str) -> None:
        self.line, self.place, self.column, self.spare = line, 0, 0, 0

    def skip_columns(self, most: int) -> int:
        """Pass over white space of at most `most` columns; the number of columns."""
        taken = 0
        while taken < most:
            if self.spare:
                self.spare -= 1
            elif self.line.startswith(" ", self.place):
                self.place += 1
            elif self.line.startswith("\t", self.place):
                self.place += 1
                self.spare = _TAB - self.column % _TAB - 1
            else:
                break
            self.column += 1
            taken += 1
        return taken

    def mark(self) -> tuple[int, int, int]:
        return self.place, self.column, self.spare

    def reset(self, mark: tuple[int, int, int]) -> None:
        self.place, self.column, self.spare = mark

    def advance(self, characters: int) -> None:
        self.place += characters
        self.column += characters

    @property
    def is_blank(self) -> bool:
        return not self.line[self.place :].strip(" \t")

    def rest(self) -> SourceLine:
        return SourceLine(self.line[: self.place], self.line[self.place :])
