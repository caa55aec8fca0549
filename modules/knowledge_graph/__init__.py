"""A memory of entities, their observations and their relations; each user has an own one."""

from modules.kit import Icon, Module, ParameterSample
from modules.kit.resource_changes import announce_changes
from modules.knowledge_graph.meaning_tools import MEANING_TOOLS
from modules.knowledge_graph.move_tools import MOVE_TOOLS
from modules.knowledge_graph.resource_changes import CHANGES
from modules.knowledge_graph.resources import RESOURCES
from modules.knowledge_graph.settings import GraphSettings
from modules.knowledge_graph.tools import READ, TOOLS, WRITE

MODULE = Module(
    name="knowledge_graph",
    title="Knowledge graph",
    description="Your own long-term memory: entities, facts about them, and how they relate.",
    scopes=frozenset({READ, WRITE}),
    tools=announce_changes((*TOOLS, *MOVE_TOOLS, *MEANING_TOOLS), CHANGES),
    resources=RESOURCES,
    icon=Icon(
        "#7c3aed",
        "M7 6a2 2 0 1 0 .01 0ZM17 8a2 2 0 1 0 .01 0ZM11 15a2 2 0 1 0 .01 0ZM9 8.4l6 1.2M8 9.8l2.2 5.3M16 11.6l-3.6 4",
    ),
    settings=GraphSettings,
    samples={
        "query": ParameterSample("Ada"),
        "get_nodes.names": ParameterSample(["Ada"], "read_graph", "/entities/0/name"),
    },
)
