"""Square convolution of images."""
import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 32
OUTPUTS = 48
HEIGHT = 44
WIDTH = 48
WINDOW = 3


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, window, padding=1)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
