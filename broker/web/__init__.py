"""What browsers and OAuth clients see of the trust zone: routes, pages, cookies."""
