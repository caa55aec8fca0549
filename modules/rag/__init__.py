"""Documents that are searched by meaning and by words: one's own, a role's, or the whole tenant's."""

from modules.kit import Icon, Module, ParameterSample
from modules.rag.collection_tools import COLLECTION_TOOLS
from modules.rag.read_tools import READ, READ_TOOLS
from modules.rag.resources import RESOURCES
from modules.rag.settings import DocumentSettings
from modules.rag.source_tools import SOURCE_TOOLS
from modules.rag.write_tools import WRITE, WRITE_TOOLS

MODULE = Module(
    name="rag",
    title="Documents",
    description="Documents that are searched by meaning and by words: your own, your teams', and your company's.",
    scopes=frozenset({READ, WRITE}),
    tools=(*READ_TOOLS, *WRITE_TOOLS, *COLLECTION_TOOLS, *SOURCE_TOOLS),
    resources=RESOURCES,
    settings=DocumentSettings,
    untrusted=True,
    has_plain_names=True,
    icon=Icon("#0f766e", "M6 3h8l4 4v8M14 3v5h5M6 3v18h6M19 19l2.5 2.5M16 13a3.5 3.5 0 1 0 .01 0Z"),
    samples={
        "query": ParameterSample("how to install"),
        "file_path": ParameterSample("guide/install.md", "list_docs_by_date", "/documents/0/file_path"),
        "source_id": ParameterSample("4f6c0d2e9b7a4d3c8e1f5a6b7c8d9e0f", "list_sources", "/sources/0/source_id"),
        "source": ParameterSample({"kind": "github", "repository": "acme/docs", "folder": "guide"}),
        "model": ParameterSample("use-multilingual-v3"),
        "tag": ParameterSample("guide", "list_tags", "/tags/0/tag"),
    },
)
