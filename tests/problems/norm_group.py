"""Group normalisation of images."""
import torch
import torch.nn as nn

BATCH = 24
CHANNELS = 48
GROUPS = 6
HEIGHT = 48
WIDTH = 50


class Model(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.4)
        nn.init.normal_(self.norm.bias, std=0.4)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [GROUPS, CHANNELS]
