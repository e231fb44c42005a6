"""Convolution with a window of one: a product at every position."""
import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 96
OUTPUTS = 112
HEIGHT = 40
WIDTH = 46
WINDOW = 1


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, window)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
