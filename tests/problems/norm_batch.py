"""Batch normalisation of images by the statistics of the batch."""
import torch
import torch.nn as nn

BATCH = 12
CHANNELS = 40
HEIGHT = 52
WIDTH = 48


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.4)
        nn.init.normal_(self.norm.bias, std=0.4)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [1.5 * torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH) - 0.3]


def get_init_inputs():
    return [CHANNELS]
