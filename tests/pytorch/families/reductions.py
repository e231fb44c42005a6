"""Reductions, softmax and its kin, scans."""
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 3
length = 6
width = 5


class Model(nn.Module):
    def forward(self, x):
        values, places = torch.max(x, dim=1)
        low = x.min(dim=2)
        return {
            "sum": x.sum(), "sum1": torch.sum(x, dim=1), "sum12": x.sum((1, 2), keepdim=True), "mean": x.mean(), "mean1": torch.mean(x, 1, keepdim=True), "mean02": x.mean(dim=(0, 2)), "max": x.max(), "values": values,
            "places": places, "low": low[0], "low_places": low.indices, "amax": torch.amax(x, dim=(0, 1)), "amin": x.amin(1), "argmax": torch.argmax(x, dim=1), "argmin": x.argmin(2, keepdim=True), "arg_all": x.argmax(),
            "prod": torch.prod(x, dim=1), "var": x.var(dim=1), "var0": torch.var(x, dim=(1, 2), unbiased=False, keepdim=True), "std": x.std(1), "std_all": torch.std(x), "norm": torch.norm(x), "norm1": torch.norm(x, p=1, dim=2),
            "norm2": torch.norm(x, p=2, dim=1, keepdim=True), "inf": torch.linalg.vector_norm(x, float("inf"), dim=2), "fro": torch.linalg.norm(x[0]), "p3": torch.norm(x, p=3, dim=1), "normalize": F.normalize(x, p=2, dim=2), "softmax": F.softmax(x, dim=1),
            "softmax_last": torch.softmax(x, -1), "log_softmax": F.log_softmax(x, dim=2), "softmin": F.softmin(x, dim=1), "logsumexp": torch.logsumexp(x, dim=1), "lse_keep": torch.logsumexp(x, dim=(1, 2), keepdim=True), "cumsum": torch.cumsum(x, dim=1),
            "reverse": torch.cumsum(x.flip(1), dim=1).flip(1), "exclusive": torch.cat((torch.zeros_like(x[:, :1]), torch.cumsum(x, 1)[:, :-1]), dim=1), "cumprod": torch.cumprod(x, dim=2), "masked_scan": torch.cumsum(x * (x > 0), dim=2), "all": (x > -2).all(dim=1),
            "any": (x > 1).any(), "count": (x > 0).sum(dim=1), "running_max": torch.cummax(x, dim=1)[0], "running_lse": torch.logcumsumexp(x, dim=1), "running_lse_last": torch.logcumsumexp(x.transpose(0, 1), -1), "square_sum": (x**2).mean(dim=-1, keepdim=True).sqrt(),
        }


def get_inputs():
    return [torch.randn(batch, length, width)]


def get_init_inputs():
    return []
