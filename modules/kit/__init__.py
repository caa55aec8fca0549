"""Public interface of MCPist for modules: declaring tools, and the context of a running tool.

A tool is a typed async function. Its first parameter is the :class:`Context`; the others become the JSON Schema of its
arguments, its docstring the description, its return annotation the output schema. Nothing has a default that a tool
author could forget: hints and scopes are named at every tool.
"""

from modules.kit.bodies import BodyPart, MultipartBody, RawBody
from modules.kit.client_questions import (
    ClientQuestion,
    ClientRoot,
    FormQuestion,
    InvalidAnswer,
    RootsQuestion,
    SampledMessage,
    SamplingMessage,
    SamplingQuestion,
)
from modules.kit.collections import (
    CollectionInfo,
    CollectionOwner,
    Collections,
    DocumentFilter,
    MatchKind,
    NewDocument,
    SearchHit,
    SearchMode,
    StaleVersion,
    StoredDocument,
    StoredDocumentPage,
)
from modules.kit.content import (
    FOR_EVERYONE,
    FOR_MODELS,
    Annotations,
    AudioBlock,
    ContentBlock,
    ContentResult,
    ImageBlock,
    ResourceBlock,
    ResourceContent,
    ResourceLink,
    TextBlock,
)
from modules.kit.context import ConfirmationOutcome, Context, LogLevel, Store
from modules.kit.declarations import (
    Execution,
    Hints,
    Module,
    ParameterSample,
    SensitiveParameter,
    Tool,
    UnstoredParameter,
    tool,
)
from modules.kit.documents import Document, DocumentConflict, DocumentPage, DocumentStore
from modules.kit.errors import OUTCOME_UNKNOWN, ClientCannotAnswer, DocumentedError, ErrorForm, ErrorKind, ToolError
from modules.kit.icons import Icon
from modules.kit.module_log import ModuleLog
from modules.kit.prompts import Prompt, PromptMessage, PromptMessages, build_user_prompt, prompt, quote_argument
from modules.kit.reads import ReadAccess
from modules.kit.resources import (
    Resource,
    ResourceContents,
    read_json_resource,
    read_long_text_resource,
    read_text_resource,
    resource,
)
from modules.kit.schema import build_json_schema
from modules.kit.settings import ModuleSettings, VendorSettings, describe_setting
from modules.kit.turns import run_in_turns
from modules.kit.vendor import (
    AccountRequest,
    Download,
    RateLimit,
    Vendor,
    VendorAnswer,
    VendorApi,
    VendorProblem,
    build_path,
)

__all__ = [
    "FOR_EVERYONE",
    "FOR_MODELS",
    "OUTCOME_UNKNOWN",
    "AccountRequest",
    "Annotations",
    "AudioBlock",
    "BodyPart",
    "ClientCannotAnswer",
    "ClientQuestion",
    "ClientRoot",
    "CollectionInfo",
    "CollectionOwner",
    "Collections",
    "ConfirmationOutcome",
    "ContentBlock",
    "ContentResult",
    "Context",
    "Document",
    "DocumentConflict",
    "DocumentFilter",
    "DocumentPage",
    "DocumentStore",
    "DocumentedError",
    "Download",
    "ErrorForm",
    "ErrorKind",
    "Execution",
    "FormQuestion",
    "Hints",
    "Icon",
    "ImageBlock",
    "InvalidAnswer",
    "LogLevel",
    "MatchKind",
    "Module",
    "ModuleLog",
    "ModuleSettings",
    "MultipartBody",
    "NewDocument",
    "ParameterSample",
    "Prompt",
    "PromptMessage",
    "PromptMessages",
    "RateLimit",
    "RawBody",
    "ReadAccess",
    "Resource",
    "ResourceBlock",
    "ResourceContent",
    "ResourceContents",
    "ResourceLink",
    "RootsQuestion",
    "SampledMessage",
    "SamplingMessage",
    "SamplingQuestion",
    "SearchHit",
    "SearchMode",
    "SensitiveParameter",
    "StaleVersion",
    "Store",
    "StoredDocument",
    "StoredDocumentPage",
    "TextBlock",
    "Tool",
    "ToolError",
    "UnstoredParameter",
    "Vendor",
    "VendorAnswer",
    "VendorApi",
    "VendorProblem",
    "VendorSettings",
    "build_json_schema",
    "build_path",
    "build_user_prompt",
    "describe_setting",
    "prompt",
    "quote_argument",
    "read_json_resource",
    "read_long_text_resource",
    "read_text_resource",
    "resource",
    "run_in_turns",
    "tool",
]
