"""Overlapping maximum pooling of images."""
import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 32
HEIGHT = 90
WIDTH = 94


class Model(nn.Module):
    def __init__(self, window, stride, padding):
        super().__init__()
        self.pool = nn.MaxPool2d(window, stride=stride, padding=padding)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [3, 2, 1]
