"""A run of the comparison ends with the process that has started it, however that ends."""

import os
import threading
import time

from nmt.lab.child import stop_at_end
from nmt.training.interruption import StopSignals


def test_a_run_saves_and_ends_with_its_parent() -> None:
    read, write = os.pipe()
    stop = StopSignals()
    with stop.installed():
        thread = threading.Thread(target=stop_at_end, args=(read,))
        thread.start()
        time.sleep(0.05)
        assert not stop.requested
        os.close(write)  # as the system does for a process that is killed
        thread.join()
        assert stop.requested
    os.close(read)
