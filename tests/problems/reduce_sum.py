"""Sum over the middle dimension, kept as length one."""
import torch
import torch.nn as nn

BATCH = 60
INNER = 220
FEATURES = 360


class Model(nn.Module):
    def forward(self, x):
        return torch.sum(x, dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(BATCH, INNER, FEATURES)]


def get_init_inputs():
    return []
