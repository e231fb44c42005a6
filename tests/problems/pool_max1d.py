"""Dilated maximum pooling of sequences."""
import torch
import torch.nn as nn

BATCH = 32
CHANNELS = 48
LENGTH = 1500
WINDOW = 5
STRIDE = 2
PADDING = 2
DILATION = 2


class Model(nn.Module):
    def __init__(self, window, stride, padding, dilation):
        super().__init__()
        self.pool = nn.MaxPool1d(window, stride=stride, padding=padding, dilation=dilation)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [WINDOW, STRIDE, PADDING, DILATION]
