"""Linear layer whose outputs are weighted and summed: a matrix-vector product in disguise."""
import torch
import torch.nn as nn

BATCH = 512
FEATURES = 640
OUTPUTS = 384


class Model(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.linear = nn.Linear(features, outputs)
        self.weight = nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        return torch.sum(self.linear(x) * self.weight, dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return [FEATURES, OUTPUTS]
