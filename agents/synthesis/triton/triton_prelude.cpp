// Functions that emitted Triton kernels call: what Triton's own don't do, or do otherwise.
#include <string>
#include <vector>

#include "agents/synthesis/triton/triton_emission.hpp"

namespace kernsmith::agents::triton {
namespace {

struct piece {
  const char* name;
  const char* text;
};

/// A piece calls only pieces that stand before it.
const std::vector<piece>& pieces() {
  static const std::vector<piece> all = {
      {"ks_index", R"(def ks_index(*sizes):
    # Positions are computed in 32 bits where all of them fit, a tile beyond the end included.
    return tl.int32 if max(sizes) < 2**30 else tl.int64
)"},
      {"ks_intermediate", R"(ks_kept = {}


def ks_intermediate(name, shape, dtype, device):
    # Made once for each shape.
    key = (name, shape, device)
    if key not in ks_kept:
        ks_kept[key] = torch.empty(shape, dtype=dtype, device=device)
    return ks_kept[key]
)"},
      {"ks_max", R"(@triton.jit
def ks_max(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
)"},
      {"ks_min", R"(@triton.jit
def ks_min(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
)"},
      {"ks_times", R"(@triton.jit
def ks_times(a, b):
    return a * b
)"},
      {"ks_whole_max", R"(@triton.jit
def ks_whole_max(a, b):
    return tl.maximum(a, b)
)"},
      {"ks_whole_min", R"(@triton.jit
def ks_whole_min(a, b):
    return tl.minimum(a, b)
)"},
      {"ks_row_max", R"(@triton.jit
def ks_row_max(x):
    # tl.max passes over NaN.
    nans = tl.sum((x != x).to(tl.int32), 1, keep_dims=True)
    return tl.where(nans > 0, float("nan"), tl.max(tl.where(x != x, float("-inf"), x), 1, keep_dims=True))
)"},
      {"ks_row_min", R"(@triton.jit
def ks_row_min(x):
    # tl.min passes over NaN.
    nans = tl.sum((x != x).to(tl.int32), 1, keep_dims=True)
    return tl.where(nans > 0, float("nan"), tl.min(tl.where(x != x, float("inf"), x), 1, keep_dims=True))
)"},
      {"ks_first_max", R"(@triton.jit
def ks_first_max(x, at, beyond: tl.constexpr):
    # The lowest of the positions `at` where x is largest.
    return tl.min(tl.where(x == tl.max(x, 1, keep_dims=True), at, beyond), 1, keep_dims=True)
)"},
      {"ks_first_min", R"(@triton.jit
def ks_first_min(x, at, beyond: tl.constexpr):
    # The lowest of the positions `at` where x is smallest.
    return tl.min(tl.where(x == tl.min(x, 1, keep_dims=True), at, beyond), 1, keep_dims=True)
)"},
      {"ks_orderly", R"(@triton.jit
def ks_orderly(x, at, best: tl.constexpr):
    # NaN is never better than what stands before it; at position 0 nothing is better than it.
    return tl.where(x != x, tl.where(at == 0, best, -best), x)
)"},
      {"ks_square", R"(@triton.jit
def ks_square(x):
    return x * x
)"},
      {"ks_cube", R"(@triton.jit
def ks_cube(x):
    return x * x * x
)"},
      {"ks_pow", R"(@triton.jit
def ks_pow(x, y):
    # In double, because the exponent multiplies the logarithm's error.
    base, exponent = tl.broadcast(x.to(tl.float64), y.to(tl.float64))
    size = tl.exp(exponent * tl.log(tl.abs(base)))
    whole = tl.floor(exponent) == exponent
    odd = whole & (tl.floor(exponent * 0.5) * 2.0 != exponent)
    signed = tl.where(odd, -size, tl.where(whole, size, float("nan")))
    power = tl.where(base < 0.0, signed, size)
    return tl.where((exponent == 0.0) | (base == 1.0), 1.0, power).to(x.dtype)
)"},
      {"ks_log1p", R"(@triton.jit
def ks_log1p(x):
    # What rounding 1 + x takes away stands in the quotient as well (Kahan).
    one = 1.0 + x
    rest = one - 1.0
    exact = (rest == 0.0) | (one == float("inf"))
    return tl.where(exact, x, tl.log(one) * (x / tl.where(exact, 1.0, rest)))
)"},
      {"ks_expm1", R"(@triton.jit
def ks_expm1(x):
    # What rounding exp(x) takes away stands in the logarithm as well (Kahan).
    power = tl.exp(x)
    rest = power - 1.0
    exact = (rest == 0.0) | (power == 0.0) | (power == float("inf"))
    near = tl.where(exact, 2.0, power)
    return tl.where(rest == 0.0, x, tl.where(exact, rest, rest * (x / tl.log(near))))
)"},
      {"ks_tanh", R"(@triton.jit
def ks_tanh(x):
    # By the exponential, whose differences lose digits near 0; by the series there.
    power = tl.exp(-2.0 * tl.abs(x))
    far = (1.0 - power) / (1.0 + power)
    s = x * x
    near = tl.abs(x) * (1.0 + s * (-1.0 / 3.0 + s * (2.0 / 15.0 + s * (-17.0 / 315.0 + s * (62.0 / 2835.0)))))
    size = tl.where(tl.abs(x) < 0.05, near, far)
    return tl.where(x < 0.0, -size, size)
)"},
      {"ks_round", R"(@triton.jit
def ks_round(x):
    # Half to even.
    low = tl.floor(x)
    odd = low - 2.0 * tl.floor(low * 0.5)
    up = (x - low > 0.5) | ((x - low == 0.5) & (odd != 0.0))
    return tl.where(up, low + 1.0, low)
)"},
      {"ks_truncate", R"(@triton.jit
def ks_truncate(x, low: tl.constexpr, high: tl.constexpr):
    # Towards zero, saturated; NaN becomes 0.
    fits = (x > low) & (x < high)
    return tl.where(x >= high, high, tl.where(x <= low, low, tl.where(fits, x, 0.0).to(tl.int64)))
)"},
      {"ks_saturate", R"(@triton.jit
def ks_saturate(x, low: tl.constexpr, high: tl.constexpr):
    return tl.minimum(tl.maximum(x, low), high)
)"},
      {"ks_to_e4m3", R"(@triton.jit
def ks_to_e4m3(x):
    # Rounded here, to even: what Triton's interpreter converts must be exact. NaN beyond the largest number, where conversions saturate.
    bits = x.to(tl.int32, bitcast=True)
    normal = ((bits + 0x7FFFF + ((bits >> 20) & 1)) & -0x100000).to(tl.float32, bitcast=True)
    small = (x + 24576.0) - 24576.0
    near = tl.where(tl.abs(x) < 0.015625, small, normal)
    return tl.where(tl.abs(x) <= 464.0, near, float("nan")).to(tl.float8e4nv)
)"},
      {"ks_to_e5m2", R"(@triton.jit
def ks_to_e5m2(x):
    # Rounded here, to even: what Triton's interpreter converts must be exact.
    bits = x.to(tl.int32, bitcast=True)
    normal = ((bits + 0xFFFFF + ((bits >> 21) & 1)) & -0x200000).to(tl.float32, bitcast=True)
    small = (x + 192.0) - 192.0
    near = tl.where(tl.abs(x) < 0.00006103515625, small, normal)
    return tl.where(tl.abs(x) < 61440.0, near, x).to(tl.float8e5)
)"},
      {"ks_operand", R"(def ks_operand(dtype):
    # Triton's interpreter would multiply the bits of bfloat16 as integers.
    return tl.float32 if os.environ.get("TRITON_INTERPRET") == "1" else dtype
)"},
  };
  return all;
}

}  // namespace

std::string triton_prelude_text(const std::string& text) {
  std::string needed = text, prelude;
  for (std::size_t k = pieces().size(); k-- > 0;) {
    const piece& p = pieces()[k];
    const std::string call = std::string(p.name) + "(", passed = ", " + std::string(p.name);
    if (needed.find(call) == std::string::npos && needed.find(passed) == std::string::npos) continue;
    prelude = std::string(p.text) + "\n\n" + prelude;
    needed += p.text;
  }
  return prelude;
}

}  // namespace kernsmith::agents::triton
