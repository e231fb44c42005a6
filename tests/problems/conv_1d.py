"""Convolution of sequences."""
import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 48
OUTPUTS = 64
LENGTH = 800
WINDOW = 5


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, window, padding=2)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
