"""Linear layer, GELU, one factor per feature."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 384
FEATURES = 512
OUTPUTS = 448


class Model(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.linear = nn.Linear(features, outputs)
        self.scale = nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        return F.gelu(self.linear(x)) * self.scale


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return [FEATURES, OUTPUTS]
