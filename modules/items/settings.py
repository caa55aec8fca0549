"""Settings of items, which an administrator changes."""

from typing import Annotated

from modules.kit import ModuleSettings, describe_setting


class ItemSettings(ModuleSettings):
    """Settings of items in a tenant."""

    max_items: Annotated[
        int,
        describe_setting(
            "Items of a workspace",
            "Most items that one workspace may have",
            ja=("ワークスペースのアイテム数", "1つのワークスペースに作成できるアイテムの最大数"),
            ge=1,
            le=1_000_000,
        ),
    ] = 200_000
    embedding_model: Annotated[
        str,
        describe_setting(
            "Embedding model",
            "Model of workspaces that are not searched by meaning yet, such as voyage-3-lite: its vendor then gets "
            "their texts, by the tenant's key. Empty: that of this MCPist",
            ja=(
                "埋め込みモデル",
                "まだ意味検索に使われていないワークスペースのモデル (例: voyage-3-lite)。"
                "本文はテナントのキーでベンダーに送信されます。空欄の場合は MCPist の既定のモデル",
            ),
            max_length=200,
            pattern=r"^(?:[\w.:/-]{1,195}(?:@[0-9]{1,4})?)?$",
        ),
    ] = ""
