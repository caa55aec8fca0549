"""The estimate of tokens beside the tokenizer that the repository measures with."""

import orjson
import pytest

from core.token_estimate import estimate_tokens
from gateway.catalogue import load_installed_modules
from gateway.sieve.sieve import Sieve
from tests.support.tokens import tokens

JAPANESE = "接続が切れました。管理者にお問い合わせください。ロールを追加して、ツールの利用申請を承認します。"


def texts() -> dict[str, str]:
    """What a model reads of each module, and prose."""
    from core.permissions import Policy, Role

    catalogue = load_installed_modules()
    everything = Policy((Role("all", 0, frozenset({"*"})),), frozenset(module.name for module in catalogue.modules))
    views = Sieve(catalogue).get_policy_view(everything).modules
    schemas = {name: orjson.dumps(list(view.schemas.values())).decode() for name, view in views.items()}
    return {**schemas, "english": catalogue.modules[0].tools[0].description * 3, "japanese": JAPANESE * 5}


def test_it_is_within_ten_percent() -> None:
    ratios = {name: estimate_tokens(text) / tokens(text) for name, text in texts().items()}
    assert len(ratios) > 8
    assert not {name: ratio for name, ratio in ratios.items() if not 0.9 <= ratio <= 1.12}


@pytest.mark.parametrize("text", ["", "   ", "a", "\x00", "𠮷" * 10, "-" * 100_000, "x" * 100_000])
def test_any_text_has_one(text: str) -> None:
    assert 0 <= estimate_tokens(text) <= len(text) + 1
