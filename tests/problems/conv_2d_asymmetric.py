"""Convolution with a window that is wider than high."""
import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 24
OUTPUTS = 40
HEIGHT = 40
WIDTH = 56
WINDOW = (2, 5)


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, window, padding=(1, 2), bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
