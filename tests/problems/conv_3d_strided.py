"""Convolution of volumes by a flat, strided window."""
import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 10
OUTPUTS = 32
DEPTH = 12
HEIGHT = 44
WIDTH = 40
WINDOW = (1, 5, 5)


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.Conv3d(inputs, outputs, window, stride=(1, 2, 2), padding=(0, 2, 2), bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
