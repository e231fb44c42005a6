"""Arithmetic, broadcasting, comparisons, scalars, casts."""
import torch
import torch.nn as nn

rows = 5
columns = 7


class Model(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.scale = nn.Parameter(torch.randn(columns))
        self.shift = nn.Parameter(torch.randn(1, 1))

    def forward(self, x, y, n, s):
        positive = torch.abs(y) + 0.5
        z = x * 2.0
        z += 1
        z.mul_(y)
        out = {
            "add": x + y, "alpha": torch.add(x, y, alpha=0.3), "sub": x - y, "rsub": 1 - x, "mul": x * self.scale, "div": x / positive, "rdiv": 1.0 / positive,
            "neg": -x, "abs": x.abs(), "square": torch.square(x), "cube": x**3, "power": positive**1.7, "root": positive**0.5, "base": 2.0**x, "exp": torch.exp(x),
            "log": torch.log(positive), "log2": torch.log2(positive), "log10": torch.log10(positive), "log1p": torch.log1p(positive), "expm1": torch.expm1(x),
            "sqrt": torch.sqrt(positive), "rsqrt": torch.rsqrt(positive), "reciprocal": torch.reciprocal(positive), "sin": torch.sin(x), "cos": torch.cos(x),
            "tan": torch.tan(x * 0.1), "sinh": torch.sinh(x), "cosh": torch.cosh(x), "erf": torch.erf(x), "floor": torch.floor(x), "ceil": torch.ceil(x),
            "round": torch.round(x), "trunc": torch.trunc(x), "sign": torch.sign(x), "maximum": torch.maximum(x, y), "minimum": torch.minimum(x, y),
            "where": torch.where(x > y, x, y), "where_scalar": torch.where(x > 0, x, torch.zeros_like(x)), "masked": x.masked_fill(x < 0, 3.5),
            "inplace": z, "row": x + self.scale, "column": x - x[:, :1], "single": x * self.shift, "outer": x[:, :1] * y[:1, :], "scalar": x * s, "factor": x * self.factor,
            "greater": x > y, "equal": n == 2, "both": (x > 0) & (y > 0), "either": torch.logical_or(x > 0, y > 0), "not_": ~(x > 0), "integers": n * 3 - 1,
            "floor_divide": torch.div(n, 3, rounding_mode="floor"), "remainder": n % 3, "mixed": x * n, "mask": x * (y > 0), "to_float": n.float() / 2, "to_int": (x * 3).long(),
            "lerp": torch.lerp(x, y, 0.25), "addcmul": torch.addcmul(x, x, y, value=0.5), "addcdiv": torch.addcdiv(x, x, positive, value=0.5),
            "ones": torch.ones_like(x) + x, "full": x * torch.full((columns,), 0.25), "ramp": x + torch.arange(columns), "eye": x[:, :5] @ torch.eye(5),
        }
        return out


def get_inputs():
    return [torch.randn(rows, columns), torch.randn(rows, columns), torch.randint(0, 9, (rows, columns)), 3.14]


def get_init_inputs():
    return [0.125]
