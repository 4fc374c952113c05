"""Whether the numbers of a kernel are right: what it is run on, and how far off it may be."""
