"""What tests of the fast paths share: layouts of tensors, comparison with a plain twin, a record of tensors made."""

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# Views of the same numbers (but for `expanded`) in which something else than their own rows lies one behind the other.
LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: x.transpose(0, -1).clone(memory_format=torch.contiguous_format).transpose(0, -1),
    "gaps": lambda x: torch.cat([x, x], dim=-1)[..., : x.shape[-1]],
    "strided": lambda x: torch.stack([x, x], dim=-1)[..., 0],
    "expanded": lambda x: x[:1].expand_as(x),
}


def results(function, inputs, layout, differentiated=None, dtype=torch.float64):
    """The value, and the gradients by the `differentiated` inputs (all), of an objective of the value's shape."""
    leaves = [x.to(dtype, copy=True) for x in inputs]
    differentiated = range(len(leaves)) if differentiated is None else differentiated
    for i in differentiated:
        leaves[i].requires_grad_()
    value = function(*map(layout, leaves))
    weights = torch.randn(value.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).to(dtype)
    of_value = layout(weights) if value.dim() else weights
    return value.detach(), *torch.autograd.grad(value, [leaves[i] for i in differentiated], of_value)


def assert_twins(fast, plain, inputs, layout=LAYOUTS["plain"]):
    """The same values and gradients in both precisions, also if a single input needs its gradient, or none does."""
    expected = results(plain, inputs, layout)
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        actual = results(fast, inputs, layout, dtype=dtype)
        close = {"rtol": tolerance, "atol": tolerance, "check_dtype": False}
        for one, other in zip(actual, expected, strict=True):
            assert one.dtype == dtype
            torch.testing.assert_close(one, other, **close)
        for i in range(len(inputs)):
            _, alone = results(fast, inputs, layout, [i], dtype)
            torch.testing.assert_close(alone, expected[1 + i], **close)
        value = fast(*(layout(x.to(dtype)) for x in inputs))
        assert not value.requires_grad
        assert value.grad_fn is None
        torch.testing.assert_close(value, expected[0], **close)


def assert_all_close(tensors, expected):
    for one, other in zip(tensors, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


class Made(TorchDispatchMode):
    """Notes the size of each tensor that an operation returns, whether its memory is still held, and conversions."""

    def __init__(self):
        super().__init__()
        self.sizes, self._storages, self.conversions = [], [], []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, torch.Tensor):
                self.sizes.append(tensor.untyped_storage().nbytes() // tensor.element_size())
                self._storages.append(StorageWeakRef(tensor.untyped_storage()))
                if function is torch.ops.aten._to_copy.default:
                    self.conversions.append((tensor.dtype, *tensor.shape))
        return made

    def count(self, size):
        """The number of memories of a size."""
        return len({storage for made, storage in zip(self.sizes, self._storages, strict=True) if made == size})

    def held(self, *but):
        """The number of memories that are held, but for those of some tensors."""
        excluded = {StorageWeakRef(tensor.untyped_storage()) for tensor in but}
        return len({storage for storage in self._storages if not storage.expired()} - excluded)
