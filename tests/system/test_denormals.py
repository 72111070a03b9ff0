"""Denormal numbers are flushed in every thread that computes, also in those that worked before they were told to."""

import threading

import torch

from nmt.system.denormals import flush_denormals, flushed_everywhere


def test_every_thread_flushes_denormals() -> None:
    import nmt.kernels  # noqa: F401 - which flushes them for the thread that imports it

    found = [flushed_everywhere()]

    def in_a_thread_with_helpers() -> None:
        torch.set_num_threads(3)
        torch.set_flush_denormal(False)
        found.append(flushed_everywhere())  # helpers begin to work here
        torch.set_flush_denormal(True)
        found.append(flushed_everywhere())  # PyTorch's own function does not reach them
        flush_denormals()
        found.append(flushed_everywhere())

    thread = threading.Thread(target=in_a_thread_with_helpers)
    thread.start()
    thread.join()
    assert found == [True, False, False, True]
