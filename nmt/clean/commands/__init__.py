"""The command of cleaning."""
