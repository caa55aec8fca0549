"""Work on outside text is linear in its length: every pattern of the product, and what bounds the rest."""
