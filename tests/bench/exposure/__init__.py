"""Comparison of plain tools, meta-tools and pinned tools: what they cost, and which finds the right tool."""
