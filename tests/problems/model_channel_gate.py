"""Squeeze and excitation: channels weighted by what their averages say."""
import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 64
REDUCTION = 4
SIDE = 44


class Model(nn.Module):
    def __init__(self, channels, reduction):
        super().__init__()
        self.squeeze = nn.Linear(channels, channels // reduction)
        self.excite = nn.Linear(channels // reduction, channels)

    def forward(self, x):
        weight = torch.relu(self.squeeze(x.mean(dim=(2, 3))))
        weight = torch.sigmoid(self.excite(weight))
        return x * weight.unsqueeze(-1).unsqueeze(-1)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE) + torch.randn(BATCH, CHANNELS, 1, 1)]


def get_init_inputs():
    return [CHANNELS, REDUCTION]
