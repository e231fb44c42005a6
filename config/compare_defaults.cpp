// Default tolerances: a table by dtype, and an estimate of how much rounding the definition itself brings.
#include <algorithm>
#include <cmath>

#include "config/compare_defaults.hpp"

namespace kernsmith {

namespace {

constexpr double allowance = 4;            ///< standard deviations of the estimated error
constexpr double running_sum_error = 0.7;  ///< deviation of a left-to-right sum of K random unit terms: K / sqrt(2) roundings

double typical_size(const init_spec& init) {
  switch (init.which) {
    case init_spec::kind::normal:
      return std::hypot(init.mean, init.std);
    case init_spec::kind::uniform:
    case init_spec::kind::integers:
      return std::sqrt((init.lo * init.lo + init.lo * init.hi + init.hi * init.hi) / 3);
    case init_spec::kind::constant:
      return std::fabs(init.value);
    case init_spec::kind::sorted:
      return typical_size(init.of.front());
    default:
      return 1;
  }
}

class error_estimator {
 public:
  error_estimator(const problem& p, const std::vector<std::int64_t>& axes, const std::vector<double>& input_sizes)
      : axes_(axes), tensors_(p.tensors.size()) {
    for (std::size_t i = 0; i < input_sizes.size(); ++i) tensors_[i].size = input_sizes[i];
    for (const statement& s : p.statements) tensors_[static_cast<std::size_t>(s.target)] = of(s, s.root);
  }

  [[nodiscard]] error_estimate of_tensor(int tensor) const { return tensors_[static_cast<std::size_t>(tensor)]; }

 private:
  [[nodiscard]] error_estimate of(const statement& s, int id) const {
    const expression& e = s.nodes[static_cast<std::size_t>(id)];
    switch (e.kind) {
      case expression_kind::number:
        return {std::fabs(e.number), 0};
      case expression_kind::axis:
        return {static_cast<double>(axes_[static_cast<std::size_t>(e.symbol)]), 0};
      case expression_kind::index:
        return {static_cast<double>(extent_of(s.variables[static_cast<std::size_t>(e.symbol)].extent, axes_)) / 2, 0};
      case expression_kind::load:
        return of_tensor(e.symbol);
      case expression_kind::cast:
        return of(s, e.arguments.front());
      case expression_kind::call:
        return of_call(s, e);
      case expression_kind::reduce:
      case expression_kind::scan:
        return of_reduction(s, e);
    }
    return {};
  }

  [[nodiscard]] error_estimate of_call(const statement& s, const expression& e) const {
    const error_estimate a = of(s, e.arguments[0]);
    const error_estimate b = e.arguments.size() > 1 ? of(s, e.arguments[1]) : error_estimate{};
    switch (e.op) {
      case operation::add:
      case operation::subtract:
        return {std::hypot(a.size, b.size), std::hypot(a.error, b.error) + std::max(a.size, b.size)};
      case operation::multiply:
        return {a.size * b.size, std::hypot(a.size * b.error, b.size * a.error) + a.size * b.size};
      case operation::divide: {
        // Divisors that are sums of positive values are larger than the model (random signs) thinks: below 1 they are taken as 1.
        const bool constant = b.error == 0 && b.size > 0;
        const double divisor = constant ? b.size : std::max(b.size, 1.0);
        const double size = a.size / divisor;
        return {size, std::hypot(a.error, size * b.error) / divisor + size};
      }
      case operation::negate:
      case operation::absolute:
        return a;
      case operation::minimum:
      case operation::maximum:
        return {std::max(a.size, b.size), std::max(a.error, b.error)};
      case operation::select: {
        const error_estimate c = of(s, e.arguments[2]);
        return {std::max(b.size, c.size), std::max(b.error, c.error)};
      }
      case operation::fma: {
        const error_estimate c = of(s, e.arguments[2]);
        return {std::hypot(a.size * b.size, c.size),
                std::hypot(std::hypot(a.size * b.error, b.size * a.error), c.error) + std::max(a.size * b.size, c.size)};
      }
      case operation::sqrt:
        return {std::sqrt(a.size), a.error / (2 * std::sqrt(std::max(a.size, 1.0))) + std::sqrt(a.size)};
      default:
        return {1, a.error + 1};  // functions of slope and size about 1; steeper ones need a written comparison
    }
  }

  [[nodiscard]] error_estimate of_reduction(const statement& s, const expression& e) const {
    const error_estimate body = of(s, e.arguments.front());
    if (e.reducer != reduction::sum || e.type != value_class::real) return body;
    double count = 1;
    for (const int variable : e.bound)
      count *= static_cast<double>(extent_of(s.variables[static_cast<std::size_t>(variable)].extent, axes_));
    if (count <= 1) return body;
    return {std::sqrt(count) * body.size, std::sqrt(count) * body.error + running_sum_error * count * body.size};
  }

  const std::vector<std::int64_t>& axes_;
  std::vector<error_estimate> tensors_;
};

}  // namespace

std::vector<double> declared_sizes(const problem& p) {
  std::vector<double> sizes;
  for (const tensor_declaration& t : p.tensors)
    if (t.role == tensor_role::input) sizes.push_back(typical_size(t.init));
  return sizes;
}

error_estimate estimate_error(const problem& p, int tensor, const std::vector<std::int64_t>& axes, const std::vector<double>& input_sizes) {
  return error_estimator(p, axes, input_sizes).of_tensor(tensor);
}

compare_spec default_compare(dtype output) {
  compare_spec compare;
  switch (output) {
    case dtype::f64:
      compare.rtol = 1e-10, compare.atol = 1e-12;
      break;
    case dtype::f32:
      compare.rtol = 1e-5, compare.atol = 1e-6;
      break;
    case dtype::f16:
      compare.rtol = 2e-3, compare.atol = 1e-4;
      break;
    case dtype::bf16:
      compare.rtol = 1.6e-2, compare.atol = 1e-3;
      break;
    case dtype::f8e4m3:
      compare.rtol = 1.3e-1, compare.atol = 1e-2;
      break;
    case dtype::f8e5m2:
      compare.rtol = 2.6e-1, compare.atol = 1e-2;
      break;
    default:
      compare.mode = compare_mode::bitwise;
      break;
  }
  return compare;
}

compare_spec compare_for(const problem& p, int tensor, const std::vector<std::int64_t>& axes) {
  if (p.compare.written) return p.compare;
  const dtype type = p.tensors[static_cast<std::size_t>(tensor)].type;
  compare_spec compare = default_compare(type);
  if (!is_float(type) || p.statements.empty()) return compare;
  const error_estimate expected = estimate_error(p, tensor, axes, declared_sizes(p));
  const double working = unit_roundoff(type == dtype::f64 ? dtype::f64 : dtype::f32);
  compare.atol = std::max(compare.atol, allowance * working * expected.error);
  // Where intermediates may be narrower than f32, each such rounding shows in the result.
  if (size_of(p.precision.lowest) < size_of(dtype::f32))
    compare.atol = std::max(compare.atol, unit_roundoff(p.precision.lowest) * expected.size);
  return compare;
}

}  // namespace kernsmith
