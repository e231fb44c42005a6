"""Unbiased variance over the positions of each channel."""
import torch
import torch.nn as nn

BATCH = 12
CHANNELS = 64
POSITIONS = 1700


class Model(nn.Module):
    def forward(self, x):
        return torch.var(x, dim=2)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, POSITIONS) * torch.rand(BATCH, CHANNELS, 1) + 1.0]


def get_init_inputs():
    return []
