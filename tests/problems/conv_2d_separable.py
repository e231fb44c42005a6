"""A depthwise convolution followed by a pointwise one."""
import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 48
OUTPUTS = 80
HEIGHT = 44
WIDTH = 44
WINDOW = 5


class Model(nn.Module):
    def __init__(self, channels, outputs, window):
        super().__init__()
        self.spatial = nn.Conv2d(channels, channels, window, padding=window // 2, groups=channels, bias=False)
        self.mix = nn.Conv2d(channels, outputs, 1)

    def forward(self, x):
        return self.mix(self.spatial(x))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
