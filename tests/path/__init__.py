"""One story per request, from HTTP to the database and back."""
