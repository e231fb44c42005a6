"""Transposed convolution of volumes, layer normalisation of their rows, SiLU."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
CHANNELS = 16
OUTPUTS = 12
DEPTH = 8
HEIGHT = 12
WIDTH = 16
WINDOW = 4


class Model(nn.Module):
    def __init__(self, channels, outputs, window, width):
        super().__init__()
        self.conv = nn.ConvTranspose3d(channels, outputs, window, stride=2, padding=1)
        self.norm = nn.LayerNorm(2 * width)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.4)
        nn.init.normal_(self.norm.bias, std=0.4)

    def forward(self, x):
        return F.silu(self.norm(self.conv(x)))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, DEPTH, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW, WIDTH]
