"""The commands of word alignment."""
