"""Facts of the installed modules that the control plane needs; the composition root passes them in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

ModuleSettingValues = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class InstalledModule:
    """One module. `tools` are the names of its tools, with whether each only reads; title and description may be
    bilingual.

    `settings_schema` is the JSON Schema of the settings, {} where there are none. `apply_change` makes new settings of
    the stored ones and of what is asked for (null: back to the default). `base_url` is that of the manifest: "" without
    a vendor.
    """

    name: str
    title: str
    description: str
    tools: Mapping[str, bool]
    apply_change: Callable[[ModuleSettingValues, ModuleSettingValues], ModuleSettingValues] | None = None
    settings_schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    base_url: str = ""

    @property
    def has_vendor(self) -> bool:
        """Check whether the module's tools use an account at a vendor."""
        return bool(self.base_url)


InstalledModules = Mapping[str, InstalledModule]
