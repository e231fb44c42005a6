"""Large strided window on images of three channels, as at the start of a network."""
import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 3
OUTPUTS = 56
HEIGHT = 108
WIDTH = 100
WINDOW = 7


class Model(nn.Module):
    def __init__(self, inputs, outputs, window):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, window, stride=2, padding=3)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
