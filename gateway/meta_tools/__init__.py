"""The three tools that a model sees: get_module_schema, call, batch. Everything else is reached through them."""
