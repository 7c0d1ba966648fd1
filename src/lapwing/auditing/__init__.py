"""The audit: checks that Lapwing keeps what it promises, and audits of the user's own functions and mechanisms."""
