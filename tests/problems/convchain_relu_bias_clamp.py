"""Convolution, ReLU, one more bias per channel, clamp."""
import torch
import torch.nn as nn

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
        self.bias = nn.Parameter(torch.randn(outputs, 1, 1))

    def forward(self, x):
        return torch.clamp(torch.relu(self.conv(x)) + self.bias, -1.0, 1.5)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
