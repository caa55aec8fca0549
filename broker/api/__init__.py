"""Identity's own part of the admin API: sessions, grants, OAuth clients, API tokens, one-time links, leaked tokens."""
