"""Keys of vendors that belong to a whole tenant, beside the credentials of users and roles."""
