"""Dilated, strided convolution of sequences, without a bias."""
import torch
import torch.nn as nn

BATCH = 16
CHANNELS = 40
OUTPUTS = 72
LENGTH = 1200
WINDOW = 3


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, window, stride=2, padding=3, dilation=3, bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
