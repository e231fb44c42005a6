"""Convolution in four groups of channels."""
import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 64
OUTPUTS = 80
HEIGHT = 42
WIDTH = 42
WINDOW = 3


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, window, padding=1, groups=4)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
