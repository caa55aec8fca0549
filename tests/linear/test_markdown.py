"""Cleaning Markdown takes linear time, whatever a stranger repeats in it."""

import pytest

from modules.kit.markup.markdown_cleaning import clean_markdown
from tests.linear.growth import MOST_RATIO, Input, ratio, texts

UNITS = texts(
    [
        "<!--", "<!-- x --> ", "[", "]", "`", "``a`", "](", "[a](", '[a](b "', "![", "<a ", '<a x="', "<a x='<b y=\"",
        "> ", ">", "- ", "-\n", "* \n", "1. a\n", "\n", "```\n", "```js x\n", "[a]: b\n", '[a]: b "\n', "[^a]: b\n\n",
        "|", "a|b\n-|-\n", "<div\n", "<div>\n\n", '<div x="\n\n', "<div =", "<?", "<!A", "<![CDATA[", "&#", "\\[",
        "</a ", "[a]((", "\t", "    a\n", "a\n=\n", "> - ", "<https:", "<a@", "[[a]", "<p><!--\n\n", "\u200b",
    ]
)  # fmt: skip


@pytest.mark.parametrize("given", UNITS, ids=repr)
def test_cleaning_takes_linear_time(given: Input) -> None:
    times, seconds = ratio(clean_markdown, given, whole_size=1 << 16)
    assert times <= MOST_RATIO, f"64 KiB take {times:.2f} times as long as 32 KiB, {seconds:.3f} s"


@pytest.mark.long
@pytest.mark.parametrize("unit", ["<!--", "[", "`", "<a x='", "> - ", "|"])
def test_four_megabytes_of_the_same(unit: str) -> None:
    """A second for a megabyte of short leaves is much; a text that is not linear would take hours."""
    clean_markdown(unit * (4_000_000 // len(unit)))
