"""The client: sources on a server, asked with the verbs of a source that is here."""
