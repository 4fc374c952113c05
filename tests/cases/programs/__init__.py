"""The programs of the cases, by what they are about."""
