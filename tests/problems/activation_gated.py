"""Gated linear unit: one half of the features times the sigmoid of the other."""
import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 700
FEATURES = 1400


class Model(nn.Module):
    def forward(self, x):
        return F.glu(x, dim=-1)


def get_inputs():
    return [torch.randn(ROWS, 2 * FEATURES)]


def get_init_inputs():
    return []
