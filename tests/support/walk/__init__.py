"""A long walk through odd input: whatever comes in, there is a result or one clear line.

`PYTHONPATH=tests python -m support.walk --inputs 1000000` tries a million inputs in all families together, which takes
about an hour. The suite takes a few of each (tests/test_walk.py).
"""

import torch

torch.set_num_threads(1)  # before anything computes: inputs are tried in forked processes, where other threads are gone
