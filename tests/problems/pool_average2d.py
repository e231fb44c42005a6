"""Average pooling of images by windows that are wider than high."""
import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 36
HEIGHT = 84
WIDTH = 96


class Model(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.pool = nn.AvgPool2d(window)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [(2, 4)]
