"""What the encoder costs with each cell: CPU time of its forward and backward pass, the least of some rounds.

python benchmarks/cells.py --lengths 15 60
"""

from __future__ import annotations

import argparse
import time

import torch

from nmt.components import CELLS
from nmt.fast.modules import replace_modules
from nmt.lab.machine import describe_machine
from nmt.system.device import choose_device


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=[15, 60], help="source positions")
    parser.add_argument("--batch", type=int, default=64, help="sentences")
    parser.add_argument("--hidden", type=int, default=256, help="H and E")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--plain", action="store_true", help="without nmt.fast")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{describe_machine(choose_device('cpu'))}; one thread, B = {options.batch}, H = {options.hidden}")
    print(f"{'cell':<10}{'parameters':>12}" + "".join(f"{f'S = {length}':>12}" for length in options.lengths))
    for name, cell in CELLS.items():
        torch.manual_seed(1)
        rnn = cell.bidirectional(options.hidden, options.hidden, 1, 0.0)
        if not options.plain:
            replace_modules(torch.nn.ModuleList([rnn]))
        count = sum(parameter.numel() for parameter in rnn.parameters())
        times = [least(rnn, options.batch, length, options.hidden, options.rounds) for length in options.lengths]
        print(f"{name:<10}{count:>12,}" + "".join(f"{1000 * seconds:>9.1f} ms" for seconds in times), flush=True)


def least(rnn: torch.nn.Module, batch: int, length: int, size: int, rounds: int) -> float:
    """CPU seconds of the fastest pass over sentences of half to whole the length."""
    inputs = torch.randn(batch, length, size, requires_grad=True)
    lengths = torch.linspace(length, length // 2, batch).long()
    seconds = []
    for _ in range(rounds):
        begin = time.process_time()
        values, final = rnn(inputs, lengths)
        (values.sum() + final.sum()).backward()
        seconds.append(time.process_time() - begin)
    return min(seconds)


if __name__ == "__main__":
    main()
