"""Finding of a check."""

from dataclasses import dataclass

from core.bilingual_text import to_japanese


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `state` is ``ok``, ``warning`` or ``error``. `message` is bilingual unless it is
    the text of an error."""

    check: str
    state: str
    message: str

    @property
    def message_ja(self) -> str:
        return str(to_japanese(self.message))
