"""The checks of the audit, each of which looks from outside."""
