"""Processes that do the work of a replay: a kernel that kills its process costs only itself."""
