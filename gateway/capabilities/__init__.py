"""Resources, prompts and completions: what clients offer to people, beside the tools that models use."""
