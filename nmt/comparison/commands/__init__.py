"""The command of comparison."""
