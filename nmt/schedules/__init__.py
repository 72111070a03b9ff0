"""Values that change during training: the learning rate, and the share of teacher forcing."""
