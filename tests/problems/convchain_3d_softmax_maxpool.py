"""Convolution of volumes, softmax over the channels, maximum pooling."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
CHANNELS = 8
OUTPUTS = 20
DEPTH = 14
HEIGHT = 26
WIDTH = 24
WINDOW = 3


class Model(nn.Module):
    def __init__(self, channels, outputs, window):
        super().__init__()
        self.conv = nn.Conv3d(channels, outputs, window)

    def forward(self, x):
        return F.max_pool3d(torch.softmax(4.0 * self.conv(x), dim=1), 2)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
