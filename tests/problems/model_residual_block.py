"""A residual block of two convolutions with batch normalisation and a shortcut that is convolved, too."""
import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 24
OUTPUTS = 40
SIDE = 40


class Model(nn.Module):
    def __init__(self, channels, outputs):
        super().__init__()
        self.first = nn.Conv2d(channels, outputs, 3, stride=2, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Conv2d(channels, outputs, 1, stride=2)
        for norm in (self.first_norm, self.second_norm):
            nn.init.normal_(norm.weight, mean=1.0, std=0.3)
            nn.init.normal_(norm.bias, std=0.3)

    def forward(self, x):
        y = torch.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        return torch.relu(y + self.shortcut(x))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [CHANNELS, OUTPUTS]
