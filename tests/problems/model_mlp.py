"""A perceptron of three layers."""
import torch
import torch.nn as nn

BATCH = 256
FEATURES = 400
HIDDEN = 512
CLASSES = 100


class Model(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)
        )

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return [FEATURES, HIDDEN, CLASSES]
