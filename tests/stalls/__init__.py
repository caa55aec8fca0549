"""No request keeps the event loop busy: the CPU time between two turns of the loop, over the whole surface."""
