"""How large one person's graph may become."""

from typing import Annotated

from modules.kit import ModuleSettings, describe_setting


class GraphSettings(ModuleSettings):
    """Limits of each person's graph in a tenant. A graph that is larger already keeps what it has and takes no more."""

    max_entities: Annotated[
        int,
        describe_setting(
            "Entities",
            "Entities that one person's graph may have",
            ja=("エンティティ数", "1人のグラフに保存できるエンティティの数"),
            ge=1,
            le=50_000,
        ),
    ] = 50_000
    max_observations: Annotated[
        int,
        describe_setting(
            "Observations",
            "Observations that one person's graph may have",
            ja=("観察の数", "1人のグラフに保存できる観察 (事実) の数"),
            ge=1,
            le=200_000,
        ),
    ] = 200_000
    max_relations: Annotated[
        int,
        describe_setting(
            "Relations",
            "Relations that one person's graph may have",
            ja=("関係の数", "1人のグラフに保存できる関係の数"),
            ge=1,
            le=200_000,
        ),
    ] = 200_000
