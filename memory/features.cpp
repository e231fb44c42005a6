// Features of problems and candidates: 64 numbers whose cosine says how alike two are.
//
// They stand in blocks. Each block is scaled to a length of its own (its weight), so that what is computed counts for more than how large
// it is, and a long definition is no more alike to everything than a short one. docs/formats/store.md lists the blocks.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

#include "config/hash.hpp"
#include "memory/similarity.hpp"

namespace kernsmith::memory {
namespace {

struct block {
  std::size_t first, size;
  double weight;
};
constexpr block operators{0, 14, 1.0};
constexpr block reductions{14, 8, 1.0};
constexpr block patterns{22, 9, 1.2};
constexpr block types{31, 7, 0.5};
constexpr block structure{38, 6, 0.5};
constexpr block extents{44, 16, 0.6};
constexpr std::array all_blocks{operators, reductions, patterns, types, structure, extents};
static_assert(extents.first + extents.size <= feature_dimensions);

enum pattern : std::size_t { contraction, batched, window, gather, transposed, broadcast, reduced_then_read, padded, elementwise };

std::size_t operator_group(operation op) {
  switch (op) {
    case operation::add:
    case operation::subtract:
    case operation::negate:
      return 0;
    case operation::multiply:
      return 1;
    case operation::fma:
      return 2;
    case operation::divide:
      return 3;
    case operation::exp:
    case operation::expm1:
      return 4;
    case operation::log:
    case operation::log1p:
      return 5;
    case operation::tanh:
    case operation::erf:
    case operation::sigmoid:
      return 6;
    case operation::sqrt:
    case operation::rsqrt:
      return 7;
    case operation::pow:
      return 8;
    case operation::sin:
    case operation::cos:
      return 9;
    case operation::minimum:
    case operation::maximum:
    case operation::absolute:
      return 10;
    case operation::floor:
    case operation::ceil:
    case operation::round:
      return 11;
    default:
      return 12;  // comparisons, logic, select
  }
}
constexpr std::size_t cast_group = 13;

std::size_t reduction_group(reduction r) {
  switch (r) {
    case reduction::sum:
      return 0;
    case reduction::max:
      return 1;
    case reduction::min:
      return 2;
    case reduction::prod:
      return 3;
    case reduction::any:
    case reduction::all:
      return 4;
    case reduction::argmax:
    case reduction::argmin:
      return 5;
  }
  return 0;
}
constexpr std::size_t scan_group = 6;
constexpr std::size_t no_reduction = 7;

std::size_t type_group(dtype t) {
  switch (t) {
    case dtype::f64:
      return 0;
    case dtype::f32:
      return 1;
    case dtype::f16:
    case dtype::bf16:
      return 2;
    case dtype::f8e4m3:
    case dtype::f8e5m2:
      return 3;
    case dtype::i64:
    case dtype::i32:
      return 4;
    case dtype::i16:
    case dtype::i8:
    case dtype::u8:
      return 5;
    case dtype::boolean:
      return 6;
  }
  return 0;
}

using values = std::array<double, feature_dimensions>;

/// The index variables a load depends on.
std::set<int> variables_of(const expression& load) {
  std::set<int> out;
  for (const auto& position : load.indices) {
    for (const auto& term : position.terms) {
      if (term.index >= 0) out.insert(term.index);
    }
  }
  return out;
}

class problem_reader {
 public:
  explicit problem_reader(const problem& p) : problem_(p) {}

  values read() {
    for (const auto& s : problem_.statements) read_statement(s);
    for (const auto& t : problem_.tensors) count(types, type_group(t.type));
    if (reductions_seen_ == 0 && !problem_.statements.empty()) count(reductions, no_reduction);
    read_structure();
    read_extents();
    return out_;
  }

 private:
  void count(const block& b, std::size_t at, double amount = 1) { out_[b.first + at] += amount; }

  void read_statement(const statement& s) {
    bool any_reduction = false;
    for (const auto& node : s.nodes) {
      switch (node.kind) {
        case expression_kind::call:
          count(operators, operator_group(node.op));
          break;
        case expression_kind::cast:
          count(operators, cast_group);
          break;
        case expression_kind::reduce:
        case expression_kind::scan:
          any_reduction = true;
          ++reductions_seen_;
          count(reductions, node.kind == expression_kind::scan ? scan_group : reduction_group(node.reducer));
          if (node.kind == expression_kind::reduce) read_contraction(s, node);
          break;
        case expression_kind::load:
          read_load(s, node);
          break;
        default:
          break;
      }
    }
    if (any_reduction && s.target >= 0) reduced_.insert(s.target);
    if (!any_reduction) count(patterns, pattern::elementwise);
  }

  /// A sum over a product of two loads, each with a free index that the other lacks, is a contraction; a free index that both have makes it
  /// batched.
  void read_contraction(const statement& s, const expression& reduce) {
    if (reduce.reducer != reduction::sum || reduce.arguments.empty()) return;
    const auto* body = &s.nodes[static_cast<std::size_t>(reduce.arguments[0])];
    while (body->kind == expression_kind::cast) body = &s.nodes[static_cast<std::size_t>(body->arguments[0])];
    if (body->kind != expression_kind::call || body->op != operation::multiply) return;
    std::vector<std::set<int>> sides;
    for (const int argument : body->arguments) {
      const auto* node = &s.nodes[static_cast<std::size_t>(argument)];
      while (node->kind == expression_kind::cast) node = &s.nodes[static_cast<std::size_t>(node->arguments[0])];
      if (node->kind == expression_kind::load) sides.push_back(variables_of(*node));
    }
    if (sides.size() != 2) return;
    bool left_only = false, both = false;
    for (const int v : sides[0]) {
      const bool free = s.variables[static_cast<std::size_t>(v)].free;
      (sides[1].contains(v) ? both : left_only) |= free;
    }
    const bool right_only = std::any_of(sides[1].begin(), sides[1].end(),
                                        [&](int v) { return s.variables[static_cast<std::size_t>(v)].free && !sides[0].contains(v); });
    if (left_only || right_only) count(patterns, pattern::contraction);
    if (both) count(patterns, pattern::batched);
  }

  void read_load(const statement& s, const expression& load) {
    if (reduced_.contains(load.symbol)) count(patterns, pattern::reduced_then_read);
    const auto& tensor = problem_.tensors[static_cast<std::size_t>(load.symbol)];
    if (tensor.pad) count(patterns, pattern::padded);
    for (const auto& position : load.indices) {
      if (!position.is_affine) count(patterns, pattern::gather);
      if (std::count_if(position.terms.begin(), position.terms.end(), [](const affine_term& t) { return t.index >= 0; }) > 1)
        count(patterns, pattern::window);
    }
    const auto used = variables_of(load);
    const auto missing = [&](int v) { return !used.contains(v); };
    if (std::any_of(s.target_indices.begin(), s.target_indices.end(), missing)) count(patterns, pattern::broadcast);
    if (!s.target_indices.empty() && !load.indices.empty()) {
      const int innermost = s.target_indices.back();
      if (used.contains(innermost) && sole_variable(load.indices.back()) != innermost) count(patterns, pattern::transposed);
    }
  }

  static int sole_variable(const index_expression& position) {
    return position.is_affine && position.terms.size() == 1 ? position.terms[0].index : -1;
  }

  void read_structure() {
    std::size_t most_rank = 0, bound = 0, intermediates = 0;
    for (const auto& t : problem_.tensors) {
      most_rank = std::max(most_rank, t.shape.size());
      intermediates += t.role == tensor_role::intermediate ? 1 : 0;
    }
    for (const auto& s : problem_.statements) {
      bound = std::max(bound, static_cast<std::size_t>(
                                  std::count_if(s.variables.begin(), s.variables.end(), [](const index_variable& v) { return !v.free; })));
    }
    const std::array<std::size_t, structure.size> counts{
        problem_.statements.size(), problem_.inputs().size(), problem_.outputs().size(), intermediates, most_rank, bound};
    for (std::size_t i = 0; i < counts.size(); ++i) count(structure, i, static_cast<double>(counts[i]));
  }

  /// Four sizes on a logarithmic scale, averaged over the workloads by weight, each spread over four neighbouring bins.
  void read_extents() {
    constexpr std::size_t bins = 4;
    constexpr std::array<double, 4> largest_log2{32, 32, 16, 12};  // bytes moved, operations, innermost extent, intensity
    std::array<double, 4> logs{};
    double weight = 0;
    for (const auto& w : problem_.workloads) {
      const auto [bytes, operations, innermost] = sizes(w.axes);
      const std::array<double, 4> these{bytes, operations, innermost, bytes > 0 ? 16 * operations / bytes : 0};
      for (std::size_t i = 0; i < these.size(); ++i) logs[i] += w.weight * std::log2(1 + these[i]);
      weight += w.weight;
    }
    for (std::size_t i = 0; weight > 0 && i < logs.size(); ++i) {
      const double at = std::clamp(logs[i] / weight / largest_log2[i], 0.0, 1.0) * (bins - 1);
      const auto low = std::min(static_cast<std::size_t>(at), bins - 2);
      count(extents, i * bins + low, 1 - (at - static_cast<double>(low)));
      count(extents, i * bins + low + 1, at - static_cast<double>(low));
    }
  }

  struct workload_sizes {
    double bytes = 0, operations = 0, innermost = 0;
  };
  [[nodiscard]] workload_sizes sizes(const std::vector<std::int64_t>& axes) const {
    workload_sizes out;
    for (const auto& t : problem_.tensors) {
      if (t.role == tensor_role::intermediate) continue;
      double elements = 1;
      for (const auto& d : t.shape) elements *= static_cast<double>(extent_of(d, axes));
      out.bytes += elements * static_cast<double>(size_of(t.type));
      if (t.role == tensor_role::output && !t.shape.empty())
        out.innermost = std::max(out.innermost, static_cast<double>(extent_of(t.shape.back(), axes)));
    }
    for (const auto& s : problem_.statements) {
      double points = 1;
      for (const auto& v : s.variables) points *= static_cast<double>(extent_of(v.extent, axes));
      out.operations += points * static_cast<double>(s.nodes.size());
    }
    return out;
  }

  const problem& problem_;
  values out_{};
  std::set<int> reduced_;  ///< tensors that a reduction wrote
  int reductions_seen_ = 0;
};

std::vector<float> unit_length(std::span<const double> v) {
  double square = 0;
  for (const double x : v) square += x * x;
  const double scale = square > 0 ? 1 / std::sqrt(square) : 0;
  std::vector<float> out;
  out.reserve(v.size());
  for (const double x : v) out.push_back(static_cast<float>(x * scale));
  return out;
}

}  // namespace

std::vector<float> problem_features(const problem& p) {
  auto v = problem_reader(p).read();
  for (const auto& b : all_blocks) {
    double square = 0;
    // The logarithm keeps the tenth multiplication from drowning the one exponential.
    for (std::size_t i = b.first; i < b.first + b.size; ++i) {
      v[i] = std::log2(1 + v[i]);
      square += v[i] * v[i];
    }
    for (std::size_t i = b.first; square > 0 && i < b.first + b.size; ++i) v[i] *= b.weight / std::sqrt(square);
  }
  return unit_length(v);
}

std::vector<float> candidate_features(const problem& p, const std::map<std::string, std::int64_t>& decisions) {
  constexpr double problem_share = 0.8, decision_share = 0.6;
  values hashed{};
  for (const auto& [name, value] : decisions) {
    const auto h = derive_seed(0, fmt::format("{}={}", name, value));
    hashed[h % feature_dimensions] += (h >> 32) % 2 == 0 ? 1 : -1;
  }
  const auto of_problem = problem_features(p);
  const auto of_decisions = unit_length(hashed);
  values mixed{};
  for (std::size_t i = 0; i < feature_dimensions; ++i) {
    mixed[i] = problem_share * static_cast<double>(of_problem[i]) + decision_share * static_cast<double>(of_decisions[i]);
  }
  return unit_length(mixed);
}

}  // namespace kernsmith::memory
