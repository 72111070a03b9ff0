"""A normalizer in a user's file is chosen, built and used like one of the project."""

import sys

import pytest
import torch
from support.plugins import forget_plugins

from nmt.build import make_attention
from nmt.components import NORMALIZERS
from nmt.config.reading import load_config
from nmt.system.errors import UserError

PLUGIN = '''
from dataclasses import dataclass

from nmt.model.normalizers import Normalizer

@dataclass(frozen=True)
class Options:
    """Its options."""
    share: float = 0.5
    """What each position gets."""

class Same(Normalizer):
    """share (nobody)."""
    name = "same"
    Options = Options

    def __init__(self, *, share=0.5):
        super().__init__()
        self.share = share

    def forward(self, scores, inside):
        return (0 * scores + self.share) * inside
'''


def test_it_is_chosen_by_its_name(tmp_path, monkeypatch):
    forget_plugins(monkeypatch)
    (tmp_path / "same.py").write_text(PLUGIN)
    (tmp_path / "x.yaml").write_text(
        "name: x\nplugins: [same.py]\nmodel: {attention: {normalizer: same, share: 0.25}}\n"
    )
    config = load_config(tmp_path / "x.yaml").model.attention
    assert "same" in NORMALIZERS
    attention = make_attention(config, 4, 6)
    inside = torch.tensor([True, True, False])
    assert attention.scope.normalizer(torch.zeros(3), inside).tolist() == [0.25, 0.25, 0.0]
    sys.modules.pop("nmt.config.plugins.same", None)
    with pytest.raises(UserError, match=r"share \(0\.25\) has no effect with .*normalizer"):
        load_config(tmp_path / "x.yaml", ["model.attention.normalizer=softmax"])
