"""The checks that a user can run: on Lapwing itself (``lw.audit``), and on functions and mechanisms of their own."""
