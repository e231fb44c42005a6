"""The block of a mobile network: widen, convolve each channel by itself, narrow, add the input."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS = 24
EXPANSION = 4
SIDE = 32


class Model(nn.Module):
    def __init__(self, channels, expansion):
        super().__init__()
        inner = channels * expansion
        self.widen = nn.Conv2d(channels, inner, 1)
        self.spatial = nn.Conv2d(inner, inner, 3, padding=1, groups=inner)
        self.narrow = nn.Conv2d(inner, channels, 1)

    def forward(self, x):
        y = F.relu6(2.0 * self.widen(x))
        y = F.relu6(2.0 * self.spatial(y))
        return x + self.narrow(y)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [CHANNELS, EXPANSION]
