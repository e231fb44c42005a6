"""The gated feed-forward part of a language model: normalisation, two projections, SiLU, product, projection back, residual."""
import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 256
FEATURES = 256
HIDDEN = 640


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.3 * torch.randn(features))
        self.gate = nn.Linear(features, hidden, bias=False)
        self.up = nn.Linear(features, hidden, bias=False)
        self.down = nn.Linear(hidden, features, bias=False)

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def get_inputs():
    return [torch.randn(TOKENS, FEATURES)]


def get_init_inputs():
    return [FEATURES, HIDDEN]
