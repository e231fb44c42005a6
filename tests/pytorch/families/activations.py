"""Every activation, by function and by module."""
import torch
import torch.nn as nn
import torch.nn.functional as F

rows = 6
columns = 10


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.slope = nn.PReLU(columns)
        self.modules_ = nn.ModuleList([nn.GELU(), nn.SiLU(), nn.Mish(), nn.Hardswish(), nn.Softplus(beta=2.0, threshold=4.0), nn.ReLU6()])

    def forward(self, x):
        out = {
            "relu": F.relu(x), "relu_": F.relu(x + 0.5, inplace=True), "relu6": F.relu6(x), "sigmoid": torch.sigmoid(x), "tanh": torch.tanh(x),
            "gelu": F.gelu(x), "gelu_tanh": F.gelu(x, approximate="tanh"), "silu": F.silu(x), "mish": F.mish(x), "hardswish": F.hardswish(x),
            "hardsigmoid": F.hardsigmoid(x), "hardtanh": F.hardtanh(x, -0.7, 1.3), "elu": F.elu(x, alpha=0.8), "selu": F.selu(x), "celu": F.celu(x, 1.4),
            "softplus": F.softplus(x), "softsign": F.softsign(x), "leaky": F.leaky_relu(x, 0.02), "logsigmoid": F.logsigmoid(x), "tanhshrink": F.tanhshrink(x),
            "hardshrink": F.hardshrink(x), "softshrink": F.softshrink(x), "threshold": F.threshold(x, 0.1, 20.0), "glu": F.glu(x, dim=1),
            "clamp": torch.clamp(x, -0.5, 0.5), "clamp_min": x.clamp(min=0.1), "clamp_max": x.clamp(max=0.1), "prelu": self.slope(x),
            "new_gelu": 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0)))), "swish": x * torch.sigmoid(x),
        }
        for n, module in enumerate(self.modules_):
            out[f"module{n}"] = module(x)
        return out


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
