"""Pages of the server for the browser: the same sources, permissions and words as the API, as HTML."""
