"""What code cites of the threat model is there (docs/dev/threat-model.md)."""

import re

from tests.lint.pages import read_page
from tests.lint.test_repository import python_files

PAGE = read_page("dev/threat-model.md")
CITATION = re.compile(
    r"threat-model\.md,?\s+((?:§[\d.]*\d(?:,?\s+rows?\s+\d+(?:(?:,|\s+and|,\s+and|\s+to)\s+\d+)*)?(?:[,;]\s+)?)+)"
)


def test_every_section_and_row_that_code_cites_is_there() -> None:
    sections = set(re.findall(r"^##+ ([\d.]*\d)\.? ", PAGE, re.MULTILINE))
    rows = set(re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE))
    assert rows == {str(number) for number in range(1, 63)}
    cited = [found[1] for path in python_files() for found in CITATION.finditer(path.read_text("utf-8"))]
    assert cited
    assert {section for one in cited for section in re.findall(r"§([\d.]*\d)", one)} <= sections
    named = [numbers for one in cited for numbers in re.findall(r"rows?\s+([\d,\sandto]+)", one)]
    assert {number for one in named for number in re.findall(r"\d+", one)} <= rows
