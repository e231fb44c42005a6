"""Linear layer, layer normalisation, a sigmoid gate from a second input."""
import torch
import torch.nn as nn

BATCH = 384
FEATURES = 448
OUTPUTS = 480


class Model(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.linear = nn.Linear(features, outputs)
        self.norm = nn.LayerNorm(outputs)
        nn.init.normal_(self.norm.weight, mean=1.0, std=0.4)
        nn.init.normal_(self.norm.bias, std=0.4)

    def forward(self, x, gate):
        return self.norm(self.linear(x)) * torch.sigmoid(gate)


def get_inputs():
    return [torch.randn(BATCH, FEATURES), torch.randn(BATCH, OUTPUTS)]


def get_init_inputs():
    return [FEATURES, OUTPUTS]
