"""The estimate of tokens beside the tokenizer that the repository measures with."""

import base64
import hashlib
import random
from typing import Any
from uuid import UUID

import orjson
import pytest

from core.token_estimate import count_tokens_up_to, estimate_tokens
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
    assert 0 <= estimate_tokens(text) <= len(text.encode()) + 1


def machine_texts() -> dict[str, str]:
    """What programs write: identifiers, numbers, times, encoded bytes."""
    source = random.Random(16)
    ids = [str(UUID(int=source.getrandbits(128))) for _ in range(200)]
    times = [
        f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}T{n % 24:02}:{n % 60:02}:07.{n * 7919 % 1000:03}Z" for n in range(300)
    ]
    return {
        "uuids": orjson.dumps(ids).decode(),
        "hashes": orjson.dumps([hashlib.sha256(one.encode()).hexdigest() for one in ids]).decode(),
        "times": orjson.dumps(times).decode(),
        "base64": base64.b64encode(source.randbytes(6000)).decode(),
        "numbers": orjson.dumps([source.random() for _ in range(300)]).decode(),
        "syllables": "ab" * 3000,
        "letters": "".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=6000)),
        "signs": "".join(source.choices("!#$%&()*+,-./:;<=>?@[]^_{|}~", k=6000)),
        "escapes": orjson.dumps(orjson.dumps({"a": ['say "so"\\n', None]}).decode() * 200).decode(),
        "log": "\n".join(f"{times[n]} INFO worker-{n} id={ids[n]} took {n * 1.37:.3f} ms" for n in range(200)),
    }


def test_the_cautious_count_is_never_too_low() -> None:
    for kind, most in ((texts(), 1.3), (machine_texts(), 2.5)):
        for name, text in kind.items():
            assert tokens(text) <= (count_tokens_up_to(text, 1 << 40) or 0) <= most * tokens(text), name


def test_counting_ends_where_there_are_too_many() -> None:
    text = "a word " * 100
    count = count_tokens_up_to(text, 1000)
    assert count is not None
    assert count_tokens_up_to(text, count) == count
    assert count_tokens_up_to(text, count - 1) is None
    assert count_tokens_up_to(text, -1) is None
    endless = _Endless("a word " * 100_000)
    assert count_tokens_up_to(endless, 1000) is None
    assert endless.read < 20_000


class _Endless(str):
    """A text that tells how much of it was read."""

    read = 0

    def __getitem__(self, part: Any) -> str:
        found = super().__getitem__(part)
        self.read += len(found)
        return found
