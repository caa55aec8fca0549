"""Plain view: permitted tools listed as tools of their own, in place of the three meta-tools or beside them."""
