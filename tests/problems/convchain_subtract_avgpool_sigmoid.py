"""Convolution, a constant subtracted, average pooling, sigmoid."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS = 24
OUTPUTS = 40
HEIGHT = 40
WIDTH = 44
WINDOW = 3


class Model(nn.Module):
    def __init__(self, channels, outputs, window):
        super().__init__()
        self.conv = nn.Conv2d(channels, outputs, window, padding=1)
        self.offset = nn.Parameter(torch.randn(outputs, 1, 1))

    def forward(self, x):
        return torch.sigmoid(F.avg_pool2d(self.conv(x) - self.offset, 2))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
