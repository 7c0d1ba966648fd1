"""What the checks and the audits of users are made with."""
