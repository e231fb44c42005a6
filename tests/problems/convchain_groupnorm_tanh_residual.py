"""Convolution of equal width, group normalisation, tanh, the input added."""
import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 32
HEIGHT = 42
WIDTH = 44
GROUPS = 4


class Model(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.GroupNorm(groups, channels)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.4)
        nn.init.normal_(self.norm.bias, std=0.4)

    def forward(self, x):
        return x + torch.tanh(self.norm(self.conv(x)))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, GROUPS]
