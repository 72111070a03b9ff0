"""The second process that computes half of each batch: the gradient of one process, and an end with its parent's."""

import os
import signal
import subprocess
import sys
import time
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from support.processes import run_among_planted_modules
from support.tiny_models import Variant, tiny_model

from nmt.data.batching import Example, collate
from nmt.fast import accelerate
from nmt.fast.worker import Worker
from nmt.system.errors import UserError
from nmt.training.loss import BatchLoss

pytestmark = pytest.mark.skipif(not Worker.is_possible(), reason="this system has no memory to share")
BATCHES = [collate([Example([4 + (i + n) % 5] * (1 + i % 6), [5] * (1 + i % 4)) for i in range(33)]) for n in (0, 1)]
# No check for `__main__`: the script must not run again in the worker.
SCRIPT = """
import time, test_worker, torch
torch.set_num_threads(2)
add_gradient = test_worker.accelerate(test_worker.losses_of(), "float32")
add_gradient(test_worker.BATCHES[0], None)
print(add_gradient.worker._process.pid, flush=True)
time.sleep(600)
"""


def losses_of(training=False):
    return BatchLoss(tiny_model(Variant("luong", "general", "local_p", input_feeding=True)).train(training), 0.1)


def gradients_of(losses, add_gradient, mask=None, threads=2):
    """The NLL and the gradients of two batches."""
    torch.set_num_threads(threads)
    losses.zero_grad()
    nll = sum(add_gradient(batch, mask).item() for batch in BATCHES)
    return [torch.tensor(nll), *(weight.grad for weight in losses.parameters() if weight.grad is not None)]


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_two_processes_have_the_gradient_of_one(precision):
    losses = losses_of().float()
    other, mask = deepcopy(losses), torch.rand(33, BATCHES[0].target_input.shape[1]) < 0.5
    one, two = accelerate(other, precision), accelerate(losses, precision)
    close = {"rtol": 1e-4, "atol": 1e-4} if precision == "float32" else {"rtol": 0.02, "atol": 0.5}
    for _ in range(2):
        expected = gradients_of(other, one, mask, threads=1)
        torch.testing.assert_close(gradients_of(losses, two, mask), expected, **close)
        with torch.no_grad():
            for weight in (*losses.parameters(), *other.parameters()):
                weight.mul_(0.9)  # which the worker sees
    assert one.worker is None
    assert two.worker.peak_memory > 2**20
    pid = two.worker._process.pid
    os.kill(pid, signal.SIGINT)  # Ctrl-C is this process's
    gradients_of(losses, two, mask)
    del two
    assert not Path(f"/proc/{pid}").exists()  # no zombie


def test_the_worker_imports_nothing_from_the_current_folder(tmp_path):
    script = SCRIPT.replace("time.sleep(600)", "")
    path = [str(Path(__file__).parent), *filter(os.path.isdir, sys.path)]
    run_among_planted_modules(script, tmp_path, PYTHONPATH=os.pathsep.join(path))


def test_a_seed_decides_about_dropout_in_both_and_only_death_ends_the_worker():
    losses = losses_of(training=True)
    add_gradient, results = accelerate(losses, "float32"), []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append([*gradients_of(losses, add_gradient), torch.rand(3)])
    assert all(map(torch.equal, *results[:2]))
    assert not torch.equal(results[0][0], results[2][0])
    with pytest.raises((IndexError, RuntimeError), match="out of range"):
        add_gradient(collate([Example([4], [5]), Example([4], [10**6])] * 16), None)
    torch.manual_seed(1)
    assert all(map(torch.equal, gradients_of(losses, add_gradient), results[0]))
    add_gradient.worker._process.kill()
    with pytest.raises(UserError, match=r"worker process .* was lost .* continue with --resume"):
        gradients_of(losses, add_gradient)


def test_it_ends_with_a_killed_parent_whose_script_ran_once(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    with subprocess.Popen(
        [sys.executable, tmp_path / "train.py"],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": paths},
        text=True,
    ) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
        ended = time.monotonic() + 10
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() < ended, "the worker lives on"
            time.sleep(0.01)
        assert not parent.stdout.read()
