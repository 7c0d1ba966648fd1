"""The server: analysts ask over HTTP, and the data stays with the owner."""
