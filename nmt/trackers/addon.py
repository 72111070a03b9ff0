"""What trackers add: functions that get a run's events."""

from nmt.addons import AddOn

ADDON = AddOn("nmt.trackers", offers={"trackers_config": "nmt.trackers.config", "trackers": "nmt.trackers.following"})
