"""Linear layer, batch normalisation, leaky ReLU, a division."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 448
FEATURES = 512
OUTPUTS = 384
DIVISOR = 1.7


class Model(nn.Module):
    def __init__(self, features, outputs, divisor):
        super().__init__()
        self.linear = nn.Linear(features, outputs, bias=False)
        self.norm = nn.BatchNorm1d(outputs)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.4)
        nn.init.normal_(self.norm.bias, std=0.4)
        self.divisor = divisor

    def forward(self, x):
        return F.leaky_relu(self.norm(self.linear(x)), 0.1) / self.divisor


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return [FEATURES, OUTPUTS, DIVISOR]
