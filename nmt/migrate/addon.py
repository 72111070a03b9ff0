"""What reads nmt 0.3: a command for its checkpoints, and the present names of fields in its configs.

Delete this folder and tests/migrate, and the rest of nmt stays as it is.
"""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.migrate",
    commands={"migrate": "convert a checkpoint of nmt 0.3 (.pt) to this version's format"},
    offers={"old_config": "nmt.migrate.config"},
)
