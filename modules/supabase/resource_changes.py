"""Which tools change what of Supabase's can be attached to a chat. SQL does not say which table it changes."""

from modules.kit.resource_changes import changed
from modules.supabase.resources import database_schema, typescript_types

_DATABASE = (changed(database_schema, project="ref"), changed(typescript_types, project="ref"))
CHANGES = {"apply_migration": _DATABASE, "execute_sql_write": _DATABASE}
