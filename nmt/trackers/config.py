"""The config field `training.trackers`."""

Trackers = tuple[str, ...] | None  # names of functions, or of installed trackers
