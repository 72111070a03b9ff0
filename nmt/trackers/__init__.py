"""Trackers, such as TensorBoard's, which follow the events of a run."""
