"""Convolution of volumes."""
import torch
import torch.nn as nn

BATCH = 2
CHANNELS = 12
OUTPUTS = 24
DEPTH = 14
HEIGHT = 26
WIDTH = 28
WINDOW = 3


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.Conv3d(inputs, outputs, window, padding=1)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
