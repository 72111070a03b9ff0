"""The ids of the tokens that every vocabulary begins with: unknown, padding, beginning and end of a sentence."""

UNK, PAD, BOS, EOS = range(4)
