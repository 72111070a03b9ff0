"""What a model is made of, fast on a processor: in place of PyTorch's own layers and functions.

Every kernel stands beside a plain twin, PyTorch's own function or a formula in PyTorch, and gives its numbers, up to
rounding. `use` chooses between the two.
"""

from nmt.kernels.additive import additive_scores
from nmt.kernels.bidirectional import BidirectionalGRU, BidirectionalLSTM
from nmt.kernels.dropout import Dropout
from nmt.kernels.embedding import Embedding
from nmt.kernels.gather import gather_windows
from nmt.kernels.gru import GRUCell, GRUGates
from nmt.kernels.linear import Linear
from nmt.kernels.lstm import LSTMCell, LSTMGates
from nmt.kernels.products import inner_products, weighted_sums
from nmt.kernels.shared import reused, reused_weights
from nmt.kernels.switch import in_use, use
from nmt.system.denormals import flush_denormals

__all__ = [
    "BidirectionalGRU",
    "BidirectionalLSTM",
    "Dropout",
    "Embedding",
    "GRUCell",
    "GRUGates",
    "LSTMCell",
    "LSTMGates",
    "Linear",
    "additive_scores",
    "gather_windows",
    "in_use",
    "inner_products",
    "reused",
    "reused_weights",
    "use",
    "weighted_sums",
]

flush_denormals()
