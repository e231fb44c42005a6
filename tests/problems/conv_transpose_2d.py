"""Transposed convolution of images with stride one."""
import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 32
OUTPUTS = 40
HEIGHT = 36
WIDTH = 40
WINDOW = 3


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.ConvTranspose2d(inputs, outputs, window, padding=1, bias=False)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
