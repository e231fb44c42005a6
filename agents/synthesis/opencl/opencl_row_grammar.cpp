// The row grammar for OpenCL on CPUs: what is decided about row programs.
#include <algorithm>
#include <memory>

#include "agents/synthesis/opencl/opencl_emission.hpp"
#include "agents/synthesis/opencl/opencl_grammar.hpp"
#include "agents/synthesis/opencl/opencl_lanes.hpp"
#include "agents/synthesis/opencl/opencl_rows.hpp"
#include "agents/synthesis/simt/row_simt.hpp"

namespace kernsmith::agents::opencl {
namespace {

using simt::simt_program;

/// An analysis, and the IR that it refers to.
struct analysis {
  std::unique_ptr<const tensor_ir> ir;
  simt_program p;
};

std::optional<analysis> analyse(const tensor_ir& ir, const fusion_group& group) {
  analysis made;
  made.ir = std::make_unique<const tensor_ir>(with_device_names(ir));
  std::optional<simt_program> p = simt::analyse_simt(*made.ir, group);
  if (!p) return std::nullopt;
  made.p = std::move(*p);
  return made;
}

std::int64_t get(const assignment& chosen, const std::string& name, std::int64_t otherwise) {
  const auto found = chosen.find(name);
  return found == chosen.end() ? otherwise : found->second;
}

decision numbers(const std::string& name, std::vector<std::int64_t> values, std::int64_t preferred, double weight, std::string meaning) {
  decision d{name, std::move(values), {}, 0, weight, std::move(meaning)};
  for (std::size_t k = 1; k < d.values.size(); ++k)
    if (std::abs(d.values[k] - preferred) < std::abs(d.values[d.preferred] - preferred)) d.preferred = k;
  return d;
}

/// Does a load have to be checked for each element of a vector by itself?
bool checks_lanes(const simt_program& p, int lane) {
  for (const row::row_statement& s : p.rows.statements)
    for (const expression& e : s.nodes) {
      if (e.kind != expression_kind::load || row::access_of(p.rows, s, e, lane) == row::access::absent) continue;
      for (std::size_t d = 0; d < e.indices.size(); ++d)
        if (row::needs_bounds(p.rows, e, d)) return true;
    }
  return false;
}

bool reduces(const simt_program& p) {
  return std::any_of(p.rows.statements.begin(), p.rows.statements.end(), [](const row::row_statement& s) {
    return s.kind == row::role::reduce || s.kind == row::role::scan || s.kind == row::role::nested;
  });
}

bool has_float_sums(const simt_program& p) {
  return !lanes_are_wide(p) && std::any_of(p.rows.statements.begin(), p.rows.statements.end(), [](const row::row_statement& s) {
    const bool sums = s.kind == row::role::reduce || s.kind == row::role::scan || s.kind == row::role::nested;
    return sums && s.reducer == reduction::sum && s.nodes[static_cast<std::size_t>(s.value)].type == value_class::real;
  });
}

bool has_powers(const simt_program& p) {
  if (lanes_are_wide(p)) return false;
  return std::any_of(p.rows.statements.begin(), p.rows.statements.end(), [](const row::row_statement& s) {
    return std::any_of(s.nodes.begin(), s.nodes.end(), [](const expression& e) {
      return e.kind == expression_kind::call && e.op == operation::pow && e.type == value_class::real;
    });
  });
}

/// One reduction whose operands are used again by neighbours, and elementwise statements after it.
bool is_product(const simt_program& p) {
  for (int i = 0; i < p.count(); ++i)
    if (p.at(i).kind != (i == 0 ? row::role::reduce : row::role::point)) return false;
  return tall_class(p).has_value();
}

class row_grammar final : public group_grammar {
 public:
  row_grammar(const machine_model& machine, bool products) : machine_(machine), products_(products) {}
  std::string_view name() const override { return products_ ? "product" : "row"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override {
    const std::optional<analysis> made = analyse(ir, group);
    return made && (along_class(made->p) || across_class(made->p)) && (!products_ || is_product(made->p));
  }

  std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group, const machine_model&) const override {
    const analysis made = *analyse(ir, group);
    const simt_program& p = made.p;
    const std::string prefix = group.name + ".";
    const bool along = along_class(p).has_value(), across = across_class(p).has_value();
    const row_choice first = guess(p);
    std::vector<decision> all;
    if (along && across)
      all.push_back({prefix + "vectors_lie",
                     {0, 1},
                     {"along", "across"},
                     first.across ? 1U : 0U,
                     1.0,
                     "vectors along a row, which is reduced over its lanes, or across rows, each lane with a row of its own"});
    if (!finds_positions(p))
      all.push_back(numbers(prefix + "vector", {1, 2, 4, 8, 16}, first.vector, 2.0, "elements in a vector; 1: scalars"));
    all.push_back(numbers(prefix + "packs", {1, 2, 4, 8}, first.packs, 1.5, "vectors that a work-item takes side by side"));
    if (across && tall_class(p))
      all.push_back(
          numbers(prefix + "tall", {1, 2, 4, 6, 8}, first.tall, 2.0, "values of another row index that a work-item takes together"));
    all.push_back(numbers(prefix + "group", {1, 2, 4, 8, 16, 32, 64, 128}, first.group, 1.0, "work-items in a work-group"));
    if (has_float_sums(p))
      all.push_back(
          {prefix + "sums", {0, 1}, {"float", "double"}, products_ ? 0U : 1U, 1.0, "what sums of float lanes are accumulated in"});
    if (has_powers(p)) all.push_back({prefix + "powers", {0, 1}, {"accurate", "exp and log"}, 1, 1.0, "how powers are computed"});
    if (along && !finds_positions(p) && !has_scan(p))
      all.push_back(numbers(prefix + "items", {1, 4, 16, 64}, 1, 1.0, "work-items that share a row and meet in local memory"));
    return all;
  }

  /// What the chosen placement doesn't have goes back to the preferred values.
  void normalise(const tensor_ir& ir, const fusion_group& group, const machine_model& machine, assignment& chosen) const override {
    const analysis made = *analyse(ir, group);
    const std::string prefix = group.name + ".";
    const std::vector<decision> all = decisions(ir, group, machine);
    const auto reset = [&](const std::string& name) {
      for (const decision& d : all)
        if (d.name == prefix + name) chosen[d.name] = d.values[d.preferred];
    };
    const row_choice choice = chosen_of(made.p, prefix, chosen);
    if (choice.across)
      reset("items");
    else
      reset("tall");
    if (choice.items > 1) reset("group");
    if (choice.vector == 1 && !choice.across) reset("packs");
  }

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model&, const assignment& chosen) const override {
    const analysis made = *analyse(ir, group);
    const row_kernel kernel = write_rows(made.p, ir, chosen_of(made.p, group.name + ".", chosen));
    emitted_group emitted;
    emitted.functions = kernel.functions;
    emitted.call = kernel.command;
    for (const row::row_statement& s : made.p.rows.statements)
      if (s.stored && ir.tensors[static_cast<std::size_t>(s.tensor)].role == tensor_role::intermediate) emitted.stored.push_back(s.tensor);
    return emitted;
  }

 private:
  /// What is possible of the assignment.
  static row_choice chosen_of(const simt_program& p, const std::string& prefix, const assignment& chosen) {
    row_choice choice;
    const bool along = along_class(p).has_value(), across = across_class(p).has_value();
    choice.across = across && (!along || get(chosen, prefix + "vectors_lie", 0) == 1);
    choice.vector = get(chosen, prefix + "vector", 1);
    choice.packs = get(chosen, prefix + "packs", 1);
    choice.tall = choice.across ? get(chosen, prefix + "tall", 1) : 1;
    choice.double_sums = get(chosen, prefix + "sums", 0) == 1;
    choice.fast_powers = get(chosen, prefix + "powers", 0) == 1;
    choice.group = get(chosen, prefix + "group", choice.group);
    choice.items = choice.across ? 1 : get(chosen, prefix + "items", 1);
    if (!choice.across && has_scan(p)) choice.vector = 1;
    if (!choice.across && choice.vector == 1) choice.packs = 1;
    return choice;
  }

  row_choice guess(const simt_program& p) const {
    row_choice first;
    const std::optional<int> along = along_class(p), across = across_class(p);
    const std::int64_t element_bytes = lanes_are_wide(p) ? 8 : 4;
    first.vector = std::clamp<std::int64_t>(machine_.vector_bytes / element_bytes, 1, 16);
    const auto prefers_across = [&] {
      if (!along || has_scan(p) || p.typical({*along}) < first.vector) return true;
      return simt::access_cost(p, *across) <= simt::access_cost(p, *along);
    };
    first.across = across && prefers_across();
    const int lane = first.across ? *across : *along;
    if (checks_lanes(p, lane) || p.typical({lane}) < first.vector) first.vector = 1;
    const bool sums = reduces(p);
    first.packs = sums ? 2 : 1;
    if (first.across && tall_class(p)) first.tall = first.vector > 1 ? 6 : 4;
    // Enough work for a work-group to be worth its start, and enough work-groups for all cores.
    constexpr std::int64_t elements_per_group = 1 << 14, groups_per_core = 8;
    const std::int64_t rows = p.typical(p.rows.parallel);
    const std::int64_t each = first.across ? first.vector * first.packs * first.tall : 1;
    std::int64_t swept = 1;
    if (along && !first.across) swept = p.typical({*along});
    if (first.across && along) swept = p.typical({*along});
    const std::int64_t items = std::max<std::int64_t>(1, rows / each);
    first.group = std::max<std::int64_t>(1, elements_per_group / std::max<std::int64_t>(1, each * swept));
    first.group = std::clamp<std::int64_t>(first.group, 1, std::max<std::int64_t>(1, items / (groups_per_core * machine_.cores)));
    return first;
  }

  machine_model machine_;
  bool products_;
};

}  // namespace

std::unique_ptr<group_grammar> make_row_grammar(const machine_model& machine) {
  return std::make_unique<row_grammar>(machine, false);
}

std::unique_ptr<group_grammar> make_product_grammar(const machine_model& machine) {
  return std::make_unique<row_grammar>(machine, true);
}

}  // namespace kernsmith::agents::opencl
