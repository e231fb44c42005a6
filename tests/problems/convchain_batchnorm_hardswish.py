"""Convolution, batch normalisation, hard swish."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS = 24
OUTPUTS = 40
HEIGHT = 40
WIDTH = 44
WINDOW = 3


class Model(nn.Module):
    def __init__(self, channels, outputs, window):
        super().__init__()
        self.conv = nn.Conv2d(channels, outputs, window, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.4)
        nn.init.normal_(self.norm.bias, std=0.4)

    def forward(self, x):
        return F.hardswish(2.0 * self.norm(self.conv(x)))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
