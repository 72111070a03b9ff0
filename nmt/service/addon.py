"""What the service adds to `nmt serve`: options, and addresses, keys, logs, metrics and reloading around its page."""

from nmt.addons import AddOn

ADDON = AddOn(
    package="nmt.service",
    offers={"service": "nmt.service.mounting", "service_options": "nmt.service.options"},
)
