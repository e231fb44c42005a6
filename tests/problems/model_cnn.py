"""A small image classifier: two convolutions with pooling, two linear layers."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 24
CLASSES = 10
SIDE = 28


class Model(nn.Module):
    def __init__(self, classes, side):
        super().__init__()
        self.first = nn.Conv2d(1, 12, 5, padding=2)
        self.second = nn.Conv2d(12, 24, 5)
        rest = (side // 2 - 4) // 2
        self.hidden = nn.Linear(24 * rest * rest, 96)
        self.output = nn.Linear(96, classes)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.first(x)), 2)
        x = F.max_pool2d(torch.relu(self.second(x)), 2)
        return self.output(torch.relu(self.hidden(torch.flatten(x, 1))))


def get_inputs():
    return [torch.randn(BATCH, 1, SIDE, SIDE)]


def get_init_inputs():
    return [CLASSES, SIDE]
