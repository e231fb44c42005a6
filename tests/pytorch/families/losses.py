"""Losses; class targets stay integers."""
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 6
classes = 5


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.triplet = nn.TripletMarginLoss(margin=0.7)
        self.cross = nn.CrossEntropyLoss()

    def forward(self, x, y, z, target, places, sign):
        p = torch.softmax(y, dim=1)
        return {
            "mse": F.mse_loss(x, y), "mse_sum": F.mse_loss(x, y, reduction="sum"), "mse_none": F.mse_loss(x, y, reduction="none"), "l1": F.l1_loss(x, y), "smooth": F.smooth_l1_loss(x, y), "smooth2": F.smooth_l1_loss(x, y, beta=0.3),
            "huber": F.huber_loss(x, y, delta=0.8), "kl": F.kl_div(F.log_softmax(x, dim=1), p, reduction="batchmean"), "kl_mean": F.kl_div(F.log_softmax(x, 1), p, reduction="mean"), "cross": self.cross(x, target),
            "cross_smooth": F.cross_entropy(x, target, label_smoothing=0.1), "cross_soft": F.cross_entropy(x, p), "cross_sum": F.cross_entropy(x, target, reduction="sum"), "cross_map": F.cross_entropy(z, places), "nll": F.nll_loss(F.log_softmax(x, 1), target),
            "hinge": torch.mean(torch.clamp(1 - x[:, 0] * sign, min=0)), "hinge_embedding": F.hinge_embedding_loss(x[:, 0], sign), "triplet": self.triplet(x, y, x * 0.3 + 1), "cosine": 1 - F.cosine_similarity(x, y, dim=1).mean(),
            "cosine_embedding": F.cosine_embedding_loss(x, y, sign, margin=0.2), "logits": F.binary_cross_entropy_with_logits(x, p), "bce": F.binary_cross_entropy(torch.sigmoid(x), p), "margin": F.margin_ranking_loss(x[:, 0], x[:, 1], sign, margin=0.1),
            "soft_margin": F.soft_margin_loss(x[:, 0], sign), "pairwise": F.pairwise_distance(x, y), "poisson": F.poisson_nll_loss(x, p),
        }


def get_inputs():
    return [torch.randn(batch, classes), torch.randn(batch, classes), torch.randn(batch, classes, 3, 2), torch.randint(0, classes, (batch,)), torch.randint(0, classes, (batch, 3, 2)), torch.randint(0, 2, (batch,)).float() * 2 - 1]


def get_init_inputs():
    return []
