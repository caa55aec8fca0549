"""What an administrator sets for documents."""

from typing import Annotated

from modules.kit import ModuleSettings, describe_setting


class DocumentSettings(ModuleSettings):
    """Settings of documents in a tenant."""

    embedding_model: Annotated[
        str,
        describe_setting(
            "Embedding model",
            "Model of new collections, such as voyage-3-lite: its vendor then gets their texts, by the tenant's key. "
            "Empty: that of this MCPist",
            ja=(
                "埋め込みモデル",
                "新しいコレクションのモデル (例: voyage-3-lite)。本文はテナントのキーでベンダーに送信されます。"
                "空欄の場合は MCPist の既定のモデル",
            ),
            max_length=200,
            pattern=r"^(?:[\w.:/-]{1,195}(?:@[0-9]{1,4})?)?$",
        ),
    ] = ""
