"""Transposed convolution, a second input added, GELU, scaled."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS = 32
OUTPUTS = 24
HEIGHT = 24
WIDTH = 26
WINDOW = 4


class Model(nn.Module):
    def __init__(self, channels, outputs, window):
        super().__init__()
        self.conv = nn.ConvTranspose2d(channels, outputs, window, stride=2, padding=1)

    def forward(self, x, shift):
        return 1.3 * F.gelu(self.conv(x) + shift)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH), torch.randn(BATCH, OUTPUTS, 1, 1)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
