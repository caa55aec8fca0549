"""The composition root: the whole product, or one gateway of it, in this process."""
