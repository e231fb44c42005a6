"""What is rewritten to less work, and what looks like it and is not."""
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 3


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 8)
        self.conv = nn.Conv2d(2, 4, 3)
        self.up = nn.ConvTranspose2d(2, 4, 3, stride=2)
        self.norm = nn.BatchNorm2d(4)
        self.rows = nn.BatchNorm1d(8)
        self.instance = nn.InstanceNorm2d(4)
        self.frozen = nn.BatchNorm2d(4).eval()

    def forward(self, x, w, image, d):
        h = self.fc(x)
        r = torch.relu(x)
        return {
            "collapsed": torch.sum(self.fc(x), dim=1, keepdim=True), "scaled": (((x @ w) / 2).sum(dim=1, keepdim=True)) * 1.5, "mean": (self.fc(x) * 0.3 - 1.0).mean(dim=1), "transposed": (x @ self.fc.weight.T).sum(1), "shifted": (2.0 - h).sum(-1),
            "not_rows": self.fc(x).sum(dim=0), "not_square": (self.fc(x) ** 2).sum(dim=1), "batch_bias": self.norm(self.conv(image)), "up_bias": self.norm(self.up(image)), "row_bias": self.rows(self.fc(x)), "instance_bias": self.instance(self.conv(image)),
            "batch_shift": self.norm(self.conv(image) + 3.0), "not_scale": self.norm(self.conv(image) * 3.0), "not_frozen": self.frozen(self.conv(image)), "relu_twice": F.relu(r), "leaky": F.leaky_relu(r), "absolute": torch.abs(r), "clamped": torch.clamp(torch.tanh(x), -1, 1),
            "not_clamped": torch.clamp(torch.tanh(x), -0.5, 1), "pool_relu": F.max_pool2d(torch.relu(self.conv(image)), 2), "pool_tanh": F.max_pool2d(torch.tanh(image) * 2 + 1, 3, 2, 1), "not_negative": F.max_pool2d(image * -2.0, 2), "not_gelu": F.max_pool2d(F.gelu(image), 2), "pools": F.max_pool2d(F.max_pool2d(image, 2), 2),
            "overlapping": F.max_pool2d(F.max_pool2d(image, 3, 2), 2, 1), "not_padded": F.max_pool2d(F.max_pool2d(image, 3, 2, 1), 2), "one": torch.logsumexp(torch.logsumexp(h, dim=1, keepdim=True), dim=1, keepdim=True), "diagonal": torch.diag(d) @ w, "columns": w.T @ torch.diag(d),
            "shared": h + h.sum(dim=1, keepdim=True),
        }


def get_inputs():
    return [torch.randn(batch, 6), torch.randn(6, 8), torch.randn(batch, 2, 9, 9), torch.randn(6)]


def get_init_inputs():
    return []
