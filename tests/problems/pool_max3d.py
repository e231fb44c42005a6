"""Maximum pooling of volumes."""
import torch
import torch.nn as nn

BATCH = 3
CHANNELS = 12
DEPTH = 26
HEIGHT = 36
WIDTH = 40


class Model(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.pool = nn.MaxPool3d(window, stride=2, padding=1)

    def forward(self, x):
        return self.pool(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [3]
