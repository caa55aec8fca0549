"""Names by which resources are compared, whatever the spelling of their URIs."""

from core.concurrency.lru_cache import LruCache
from gateway.capabilities.resources import convert_variables
from gateway.catalogue import Catalogue

MAX_NAMES = 4_096
"""Names that are remembered, of URIs of at most 2 KiB each."""


class ResourceNames:
    """One name for all URIs that are read as the same resource: with another spelling of a variable, or by another of
    the resource's templates."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._resources = [one for resources in catalogue.resources.values() for one in resources]
        self._names = LruCache[str, str](MAX_NAMES)

    def get(self, uri: str) -> str:
        """Return the name: a URI that is read as the resource, or the same URI where it is none of a resource."""
        name = self._names.get(uri)
        if name is None:
            name = self._find(uri)
            self._names.put(uri, name)
        return name

    def _find(self, uri: str) -> str:
        for resource in self._resources:
            for template in resource.templates:
                variables = template.match(uri)
                values = None if variables is None else convert_variables(resource, variables)
                if values is not None:
                    return resource.templates[0].expand(values)
        return uri
