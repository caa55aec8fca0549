"""Pages, OAuth endpoints and cookies of the trust zone: everything that browsers and OAuth clients reach."""
