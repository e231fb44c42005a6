"""Each channel convolved by itself."""
import torch
import torch.nn as nn

BATCH = 6
CHANNELS = 56
HEIGHT = 70
WIDTH = 72
WINDOW = 3


class Model(nn.Module):
    def __init__(self, channels, window):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, window, padding=1, groups=channels)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, WINDOW]
