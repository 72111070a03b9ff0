"""What is imported and loaded at the start is left out of garbage collection."""

import gc

import pytest

from nmt.system.startup import kept_for_good


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_meanwhile_and_never_sees_what_was_made(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    before = gc.get_freeze_count()
    try:
        with kept_for_good():
            assert not gc.isenabled()
            made = [[number] for number in range(1000)]
        assert gc.isenabled() == enabled
        assert gc.get_freeze_count() >= before + len(made)
    finally:
        gc.enable()
        gc.unfreeze()
