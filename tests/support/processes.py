"""What tests have other processes do. Nothing heavy is imported here: each of them would import it again."""

import os
import signal


def end_this_process(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
