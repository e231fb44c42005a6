"""Transposed convolution of sequences that doubles their length."""
import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 48
OUTPUTS = 32
LENGTH = 600
WINDOW = 4


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.ConvTranspose1d(inputs, outputs, window, stride=2, padding=1)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
