"""The checks of the audit, which use the public interface."""
