"""Average pooling of volumes with overlapping windows."""
import torch
import torch.nn as nn

BATCH = 3
CHANNELS = 10
DEPTH = 28
HEIGHT = 40
WIDTH = 36


class Model(nn.Module):
    def __init__(self, window, stride, padding):
        super().__init__()
        self.pool = nn.AvgPool3d(window, stride=stride, padding=padding)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [3, 2, 1]
