"""Chains as models have them: blocks with normalisation, pooling and residuals, an MLP, computed buffers."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
features = 12


class Block(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(a, b, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(b)
        self.conv2 = nn.Conv2d(b, b, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(b)
        self.down = nn.Sequential(nn.Conv2d(a, b, 1, stride=stride, bias=False), nn.BatchNorm2d(b))

    def forward(self, x):
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)), inplace=True)))
        out += self.down(x)
        return F.relu(out)


class Positions(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        place = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(length, width)
        table[:, 0:width // 2] = torch.sin(place * rate)
        table[:, width // 2:] = torch.cos(place * rate)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.block = Block(3, 4, 2)
        self.mlp = nn.Sequential(nn.Linear(features, 16), nn.ReLU(), nn.Dropout(0.0), nn.Linear(16, 8), nn.GELU(), nn.Linear(8, 1))
        self.positions = Positions(6, features)
        self.scale = nn.Parameter(torch.ones(features))

    def forward(self, image, x, sequence):
        y = self.mlp(x)
        z = self.mlp[0](x)
        return {
            "block": self.block(image), "pooled": torch.flatten(F.adaptive_avg_pool2d(self.block(image), 1), 1), "mlp": y, "squeezed": y.squeeze(1), "positions": self.positions(sequence), "scaled": x * self.scale, "logsum": torch.logsumexp(z, 1, keepdim=True) * 2,
            "chain": F.hardtanh(F.mish(torch.clamp(z * 0.5 + z, -1.0, 1.0)), -0.5, 0.5), "residual": x + F.linear(F.gelu(z), self.mlp[0].weight.t()), "mean_sub": z - z.mean(dim=1, keepdim=True),
        }


def get_inputs():
    return [torch.randn(batch, 3, 8, 8), torch.randn(batch, features), torch.randn(batch, 6, features)]


def get_init_inputs():
    return [features]
