#include "backends/cpp/work_model.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "backends/cpp/expression_text.hpp"

namespace kernsmith::cpp {

namespace {

constexpr double division_flops = 4, root_flops = 4, function_flops = 12;
/// Reads alone can run ahead of the copy rate, and part of the data may be cached.
constexpr double memory_margin = 2.0;
constexpr double cache_margin = 4.0;
/// Narrow types multiply up to four times faster than f32, and fast algorithms save some multiplications.
constexpr double compute_margin = 8.0;
constexpr double streaming_share = 2.0;  ///< of the last-level cache: above, data must come from memory
/// Starting and joining threads costs about this much; a kernel near it is bound by neither memory nor arithmetic.
constexpr double overhead_ns = 8e3;
constexpr double overhead_fraction = 0.4;
constexpr int max_halvings = 24;

double weight_of(const expression& e) {
  if (e.kind == expression_kind::reduce || e.kind == expression_kind::scan) return 1;
  if (e.kind != expression_kind::call) return 0;
  switch (e.op) {
    case operation::divide:
      return division_flops;
    case operation::sqrt:
    case operation::rsqrt:
      return root_flops;
    case operation::exp:
    case operation::log:
    case operation::log1p:
    case operation::expm1:
    case operation::pow:
    case operation::tanh:
    case operation::erf:
    case operation::sigmoid:
    case operation::sin:
    case operation::cos:
      return function_flops;
    case operation::fma:
      return 2;
    default:
      return 1;
  }
}

double count_of(const statement& s, variable_set variables, const std::vector<std::int64_t>& axes) {
  double count = 1;
  for (std::size_t v = 0; v < s.variables.size(); ++v) {
    if ((variables >> v & 1u) != 0) count *= static_cast<double>(extent_of(s.variables[v].extent, axes));
  }
  return count;
}

/// How a tensor is read over all statements.
struct reading {
  bool whole = false;  ///< some load walks all of it, whatever the values are
  bool gathered = false;
  bool conditional = false;
  double touches = 0;
};

/// Nodes that stand under a select or a logical short cut: a kernel may leave them out.
std::vector<bool> conditional_nodes(const statement& s) {
  std::vector<bool> conditional(s.nodes.size(), false);
  for (std::size_t i = s.nodes.size(); i-- > 0;) {
    const expression& e = s.nodes[i];
    const bool chooses =
        e.kind == expression_kind::call && (e.op == operation::select || e.op == operation::logical_and || e.op == operation::logical_or);
    for (std::size_t a = 0; a < e.arguments.size(); ++a) {
      if (conditional[i] || (chooses && a > 0)) conditional[static_cast<std::size_t>(e.arguments[a])] = true;
    }
  }
  return conditional;
}

void note_load(const problem& p, const statement& s, const expression& e, variable_set depends, bool conditional,
               const std::vector<std::int64_t>& axes, reading& r) {
  const tensor_declaration& t = p.tensors[static_cast<std::size_t>(e.symbol)];
  bool whole = true;
  variable_set seen = 0;
  for (std::size_t d = 0; d < e.indices.size(); ++d) {
    const int index = sole_index(e.indices[d]);
    r.gathered |= !e.indices[d].is_affine;
    if (index < 0 || !(s.variables[static_cast<std::size_t>(index)].extent == t.shape[d]) || (seen >> index & 1u) != 0) {
      whole = false;
    } else {
      seen |= variable_set{1} << index;
    }
  }
  r.whole |= whole && !conditional;
  r.conditional |= conditional;
  r.touches += count_of(s, depends, axes);
}

/// Is this node a sum over products of two things that vary along different indices, as matrix units compute it?
bool sums_products(const statement& s, const expression& e, const expression_text& text) {
  if (e.kind != expression_kind::reduce || e.reducer != reduction::sum) return false;
  const expression& body = s.nodes[static_cast<std::size_t>(e.arguments[0])];
  return body.kind == expression_kind::call && body.op == operation::multiply &&
         text.depends_on(body.arguments[0]) != text.depends_on(body.arguments[1]);
}

/// Sum of a product in which every bound index is shared by factors and each factor lacks a free index: a contraction.
double contraction_of(const problem& p, const statement& s, const expression_text& text, const std::vector<std::int64_t>& axes) {
  const expression& root = s.nodes[static_cast<std::size_t>(s.root)];
  if (root.kind != expression_kind::reduce || root.reducer != reduction::sum ||
      p.tensors[static_cast<std::size_t>(s.target)].role != tensor_role::output) {
    return 0;
  }
  const int body = root.arguments[0];
  const expression& product = s.nodes[static_cast<std::size_t>(body)];
  if (product.kind != expression_kind::call || product.op != operation::multiply) return 0;
  for (const int factor : product.arguments) {
    const expression& load = s.nodes[static_cast<std::size_t>(factor)];
    if (load.kind != expression_kind::load) return 0;
    for (const index_expression& index : load.indices) {
      if (sole_index(index) < 0) return 0;
    }
  }
  const variable_set a = text.depends_on(product.arguments[0]), b = text.depends_on(product.arguments[1]);
  variable_set free = 0;
  for (const int index : s.target_indices) free |= variable_set{1} << index;
  if ((free & ~a) == 0 || (free & ~b) == 0) return 0;  // an elementwise product inside: reordering could save most of it
  return 2 * count_of(s, text.depends_on(body), axes);
}

}  // namespace

workload_work work_of(const problem& p, const std::vector<std::int64_t>& axes) {
  workload_work work;
  std::map<int, reading> readings;
  for (const statement& s : p.statements) {
    const expression_text text(p, s, arithmetic::wide);
    const std::vector<bool> conditional = conditional_nodes(s);
    for (std::size_t i = 0; i < s.nodes.size(); ++i) {
      const expression& e = s.nodes[i];
      variable_set depends = text.depends_on(static_cast<int>(i));
      if (e.kind == expression_kind::reduce) depends |= text.depends_on(e.arguments[0]);
      work.flops += weight_of(e) * count_of(s, depends, axes);
      work.sums_products |= sums_products(s, e, text);
      if (e.kind == expression_kind::load) note_load(p, s, e, depends, conditional[i], axes, readings[e.symbol]);
    }
    work.contraction_flops += contraction_of(p, s, text, axes);
  }
  for (std::size_t t = 0; t < p.tensors.size(); ++t) {
    const tensor_declaration& tensor = p.tensors[t];
    if (tensor.role == tensor_role::intermediate) continue;
    const double size = static_cast<double>(size_of(tensor.type)),
                 bytes = static_cast<double>(element_count(shape_of(tensor, axes))) * size;
    if (tensor.role == tensor_role::output) {
      work.bytes += bytes;
      work.compulsory_bytes += bytes;
      continue;
    }
    if (p.statements.empty()) {
      work.bytes += bytes;  // a reference in C++: what it reads is not known
      continue;
    }
    const auto found = readings.find(static_cast<int>(t));
    if (found == readings.end()) continue;
    const reading& r = found->second;
    work.bytes += r.gathered ? std::min(bytes, r.touches * size) : bytes;
    if (r.whole && !r.gathered && !r.conditional) work.compulsory_bytes += bytes;
  }
  return work;
}

std::vector<std::int64_t> shrink_axes(const problem& p, std::vector<std::int64_t> axes,
                                      const std::function<bool(const std::vector<std::int64_t>&, double)>& small_enough) {
  const double flops = std::max(work_of(p, axes).flops, 1.0);
  double share = 1;
  for (int halving = 0; halving < max_halvings && !small_enough(axes, share); ++halving) {
    std::vector<std::int64_t> smaller = axes;
    const auto largest = std::max_element(smaller.begin(), smaller.end());
    if (largest == smaller.end() || *largest <= 1) break;
    *largest = (*largest + 1) / 2;
    if (!check_axes(p, smaller)) break;
    axes = smaller;
    // A problem whose reference is given as source has no count of operations.
    share = p.statements.empty() ? std::pow(0.5, halving + 1) : work_of(p, axes).flops / flops;
  }
  return axes;
}

double floor_ns(const workload_work& work, const machine_peaks& peaks, std::int64_t cache_bytes) {
  const bool streams = work.compulsory_bytes > streaming_share * static_cast<double>(cache_bytes);
  const double rate = streams ? memory_margin * peaks.copy_gb_per_s : cache_margin * std::max(peaks.cache_gb_per_s, peaks.copy_gb_per_s);
  const double by_bytes = rate > 0 ? work.compulsory_bytes / rate : 0;
  const double by_flops = peaks.gflop_per_s > 0 ? work.contraction_flops / (compute_margin * peaks.gflop_per_s) : 0;
  return std::max(by_bytes, by_flops);
}

memory::diagnosis diagnose(const workload_work& work, double measured_ns, const machine_peaks& peaks, std::int64_t cache_bytes) {
  memory::diagnosis d;
  d.bottleneck = "unknown";
  if (measured_ns <= 0) return d;
  const bool cached = work.bytes < static_cast<double>(cache_bytes) / 2;
  const double rate = cached ? std::max(peaks.cache_gb_per_s, peaks.copy_gb_per_s) : peaks.copy_gb_per_s;
  const double memory_ns = rate > 0 ? work.bytes / rate : 0;
  const double compute_ns = peaks.gflop_per_s > 0 ? work.flops / peaks.gflop_per_s : 0;
  d.signals["bytes"] = work.bytes;
  d.signals["flops"] = work.flops;
  d.signals["gb_per_s"] = work.bytes / measured_ns;
  d.signals["gflop_per_s"] = work.flops / measured_ns;
  d.signals["arithmetic_intensity"] = work.bytes > 0 ? work.flops / work.bytes : 0;
  d.signals["memory_fraction"] = memory_ns / measured_ns;
  d.signals["compute_fraction"] = compute_ns / measured_ns;
  d.signals["cache_resident"] = cached ? 1 : 0;
  if (memory_ns <= 0 && compute_ns <= 0) return d;
  d.roofline_fraction = std::max(memory_ns, compute_ns) / measured_ns;
  if (measured_ns < 4 * overhead_ns && d.roofline_fraction < overhead_fraction) {
    d.bottleneck = "overhead";
  } else {
    d.bottleneck = memory_ns >= compute_ns ? "memory" : "compute";
  }
  return d;
}

}  // namespace kernsmith::cpp
