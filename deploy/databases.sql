-- One database for each ledger; the one for the record of people is made by POSTGRES_DB.
CREATE DATABASE visits;
