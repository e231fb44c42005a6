# expect: passed
# problem: linear
# why: parameters under other names are matched by their shapes
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        made = torch.nn.Linear(in_features, out_features)
        self.weight, self.bias = made.weight, made.bias

    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight, self.bias).softmax(1)
