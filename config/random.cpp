#include "config/random.hpp"

#include <array>
#include <cmath>

namespace kernsmith {

namespace {

constexpr int cell_bits = 12;
constexpr std::size_t cells = std::size_t{1} << cell_bits;
constexpr int max_steps = 16;
constexpr double cell_fraction = 0x1p-20;  // of the bits below the cell's number

/// x with P(Z < x) = p for p in (0, 1/2], by Newton's method on erfc.
double lower_quantile(double p) {
  const double tail = std::sqrt(-2 * std::log(2 * p));
  double x = p > 0.1 ? -1.2 * (1 - 2 * p) : -tail;
  for (int i = 0; i < max_steps; ++i) {
    const double error = 0.5 * std::erfc(-x * 0.70710678118654752) - p;
    const double density = 0.39894228040143268 * std::exp(-0.5 * x * x);
    const double ratio = error / density;
    const double step = ratio / (1 + 0.5 * x * ratio);  // Halley's correction: plain Newton overshoots in the tail
    x -= step;
    if (std::fabs(step) < 1e-14) break;
  }
  return x;
}

double exact_quantile(double p) {
  return p <= 0.5 ? lower_quantile(p) : -lower_quantile(1 - p);
}

const std::array<double, cells + 1>& table() {
  static const std::array<double, cells + 1> values = [] {
    std::array<double, cells + 1> built{};
    for (std::size_t i = 1; i < cells; ++i) built[i] = exact_quantile(static_cast<double>(i) / static_cast<double>(cells));
    return built;
  }();
  return values;
}

}  // namespace

double normal_quantile(std::uint32_t bits) {
  const std::uint32_t cell = bits >> (32 - cell_bits);
  if (cell == 0 || cell == cells - 1) return exact_quantile(unit_interval(bits));
  const std::array<double, cells + 1>& values = table();
  const double fraction = (static_cast<double>(bits & 0xFFFFFu) + 0.5) * cell_fraction;
  return values[cell] + fraction * (values[cell + 1] - values[cell]);
}

}  // namespace kernsmith
