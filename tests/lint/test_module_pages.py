"""The pages of the modules are what `python -m tools.module_docs` makes of their declarations."""

from tools.module_docs import FOLDER, render_all

NOT_GENERATED = {"writing-a-module.md", "wishes.md", "created-things.md"}


def test_the_pages_are_as_the_modules_declare() -> None:
    stale = {path.name for path, text in render_all().items() if not path.exists() or path.read_text("utf-8") != text}
    assert stale == set(), "run: python -m tools.module_docs"


def test_there_is_no_page_without_a_module() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} - NOT_GENERATED == {path.name for path in render_all()}
