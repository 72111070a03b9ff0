"""The command `nmt compare`: where two systems' translations differ; and accuracy on contrastive pairs."""
