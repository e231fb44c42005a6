"""Transposed convolution of volumes with stride two."""
import torch
import torch.nn as nn

BATCH = 2
CHANNELS = 20
OUTPUTS = 12
DEPTH = 8
HEIGHT = 14
WIDTH = 16
WINDOW = 3


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.ConvTranspose3d(inputs, outputs, window, stride=2, padding=1, output_padding=1)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
