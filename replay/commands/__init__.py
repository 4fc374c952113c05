"""The commands of `replay`, one module each; replay/cli.py has the table."""
