"""Linear layer, group normalisation of the features, sigmoid, scaled."""
import torch
import torch.nn as nn

BATCH = 320
FEATURES = 640
OUTPUTS = 512
GROUPS = 16


class Model(nn.Module):
    def __init__(self, features, outputs, groups):
        super().__init__()
        self.linear = nn.Linear(features, outputs)
        self.norm = nn.GroupNorm(groups, outputs)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.4)
        nn.init.normal_(self.norm.bias, std=0.4)

    def forward(self, x):
        return 1.8 * torch.sigmoid(self.norm(self.linear(x)))


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return [FEATURES, OUTPUTS, GROUPS]
