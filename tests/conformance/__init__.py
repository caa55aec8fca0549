"""The official conformance tool against the product, which serves a module that its scenarios expect."""
