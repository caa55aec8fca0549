"""One folder per service; `modules.kit` is all of ours that a module may import."""
