"""The question: what is public about a table, what is asked of it, and SQL as a way to ask."""
