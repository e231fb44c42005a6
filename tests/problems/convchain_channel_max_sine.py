"""Convolution, maximum over the channels, scaled, sine."""
import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 24
OUTPUTS = 40
HEIGHT = 40
WIDTH = 44
WINDOW = 3


class Model(nn.Module):
    def __init__(self, channels, outputs, window):
        super().__init__()
        self.conv = nn.Conv2d(channels, outputs, window, padding=1)

    def forward(self, x):
        highest = torch.max(self.conv(x), dim=1, keepdim=True)[0]
        return torch.sin(2.5 * highest)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS, WINDOW]
