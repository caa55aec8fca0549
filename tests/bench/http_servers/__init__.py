"""The HTTP servers that could stand in front of our applications: what each withstands, and what a request costs."""
