"""A Supabase Management API of its own, on its description, over a real PostgreSQL."""

from tests.support.supabase_double.server import ROUTES, SupabaseDouble, supabase_double
from tests.support.supabase_double.world import Refused, World

__all__ = ["ROUTES", "Refused", "SupabaseDouble", "World", "supabase_double"]
