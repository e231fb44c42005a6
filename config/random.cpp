#include "config/random.hpp"

#include <array>
#include <cmath>

namespace kernsmith {

namespace {

constexpr int max_steps = 16;

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

}  // namespace

normal_law::normal_law() {
  static const std::array<double, cells + 1> values = [] {
    std::array<double, cells + 1> built{};
    for (std::size_t i = 1; i < cells; ++i) built[i] = exact_quantile(static_cast<double>(i) / static_cast<double>(cells));
    return built;
  }();
  table_ = values.data();
}

double normal_law::exact(std::uint32_t bits) {
  return exact_quantile(unit_interval(bits));
}

}  // namespace kernsmith
