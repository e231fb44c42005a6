// The row grammar: decisions over row programs (row_grammar_program.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "agents/synthesis/group_grammar.hpp"
#include "agents/synthesis/row_grammar_plan.hpp"
#include "agents/synthesis/row_grammar_program.hpp"
#include "agents/synthesis/row_grammar_search.hpp"
#include "agents/synthesis/row_grammar_source.hpp"

namespace kernsmith::agents {
namespace {

// What finishing a reduction over lanes costs, in vectors swept.
constexpr double lane_reduction_cost = 3;
// Borders from which on a search beats comparing with each.
constexpr std::int64_t least_searched = 24;

class row_grammar final : public group_grammar {
 public:
  std::string_view name() const override { return "row"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override { return row::analyse(ir, group).has_value(); }

  std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group, const machine_model& machine) const override {
    const row::row_program p = *row::analyse(ir, group);
    std::vector<decision> all;
    const auto add = [&](const char* what, std::vector<std::int64_t> values, std::vector<std::string> labels, std::int64_t preferred,
                         double weight, const char* meaning) {
      decision d;
      d.name = group.name + "." + what;
      d.values = std::move(values);
      d.labels = std::move(labels);
      d.preferred = static_cast<std::size_t>(std::find(d.values.begin(), d.values.end(), preferred) - d.values.begin());
      d.weight = weight;
      d.meaning = meaning;
      all.push_back(std::move(d));
    };
    const bool inner = row::lanes_possible(p, row::lanes::inner), across = row::lanes_possible(p, row::lanes::across);
    const bool columns = across && strides_rows(p) && !gathers_rows(p);  // memory is far wider than a strip
    const bool parted = columns && row::can_part(p, row::schedule(p, row::plan_with(row::lanes::across)));
    const std::int64_t where = static_cast<std::int64_t>(preferred_lanes(p, machine));
    if (inner && across)
      add("lanes", {0, 1}, {"inner", "across"}, where, 2.0, "SIMD lanes along the swept index of a row, or across neighbouring rows");
    add("unroll", {1, 2, 4, 8}, {}, parted && where == static_cast<std::int64_t>(row::lanes::across) ? 1 : 4, 2.0,
        "vectors per step of a sweep, or per strip of rows");
    if (streams(p)) {
      add("stores", {0, 1, 2}, {"cached", "streaming", "streaming_large"}, 2, 1.0,
          "write outputs through the caches, past them, or past them when they take a quarter of the last level or more");
    }
    if (divides_by_row_value(p))
      add("division", {0, 1}, {"exact", "reciprocal"}, 1, 0.5, "divide by a row value, or multiply with its inverse");
    if (across && multiplies_powers(p))
      add("product", {0, 1}, {"powers", "logarithms"}, 1, 1.5, "multiply powers, or add their logarithms and take one exponential");
    if (inner && !row::next_row_loads(p, row::schedule(p, row::plan_with(row::lanes::inner))).empty())
      add("next_row", {0, 1}, {"no", "prefetch"}, 1, 1.0, "ask for the next row's inputs while a sweep of this row computes");
    if (inner && row::find_deferral(p, row::schedule(p, row::plan_with(row::lanes::inner))))
      add("last_sweep", {0, 1}, {"own", "behind"}, 1, 1.5, "the last sweep of a row by itself, or inside an earlier sweep of the next row");
    if (inner && row::find_late_nan(p))
      add("nan", {0, 1}, {"each", "late"}, 1, 1.0, "look for NaN in each comparison of a maximum, or in the sum that follows it");
    if (inner) add("chunk", {0, 1, 4, 16, 64}, {}, 0, 0.5, "rows per scheduling chunk; 0: one even share per thread");
    if (across) add("span", {64, 256, 1024, 4096, 16384}, {}, preferred_span(p), 1.0, "lanes across rows per task");
    for (const int i : row::keepable(p)) {
      const std::string what = "keep_" + p.tensor(p.statements[static_cast<std::size_t>(i)].tensor).name;
      add(what.c_str(), {0, 1}, {"recompute", "buffer"}, worth_keeping(p, i) ? 1 : 0, 1.5,
          "compute the value again in each sweep, or keep it in a row buffer");
    }
    if (across && row::can_block(p, row::schedule(p, row::plan_with(row::lanes::across))))
      add("block", {0, 4, 8, 12, 16, 32}, {},
          parted    ? 12
          : columns ? 8
                    : 0,
          1.5, "swept elements that all strips of a task take in before the next ones; 0: each strip takes all");
    if (parted) add("streams", {0, 1}, {"together", "apart"}, 1, 1.0, "the elements of a block are neighbours, or each of its own part");
    if (columns && p.parallel.size() == 1)
      add("split", {0, 1}, {"lanes", "swept"}, 1, 1.0, "threads share the lanes, or the swept index as long as a span holds all lanes");
    if (strides_rows(p))
      add("prefetch", {0, 2, 4, 8, 16, 32}, {}, gathers_rows(p) ? 4 : parted ? 2 : 16, 1.0, "rows of later steps fetched ahead");
    if (const auto search = row::find_search(p); search && across)
      add("count", {0, 1}, {"compare", "search"}, p.typical(search->count_class) >= least_searched ? 1 : 0, 2.0,
          "count borders by comparing with each, or by a search in the sorted borders");
    if (fixed_class(p) >= 0)
      add("fixed", {0, 1}, {"general", "specialised"}, 1, 1.0, "a copy of the code with the short extent as a constant");
    return all;
  }

  void normalise(const tensor_ir& ir, const fusion_group& group, const machine_model& machine, assignment& chosen) const override {
    const row::row_program p = *row::analyse(ir, group);
    const row::lanes where = lanes_of(p, group, machine, chosen);
    // Logarithms of products are taken strip by strip.
    const auto product = chosen.find(group.name + ".product");
    const bool logs = where == row::lanes::across && product != chosen.end() && product->second != 0;
    for (const decision& d : decisions(ir, group, machine)) {
      const std::string what = d.name.substr(group.name.size() + 1);
      const bool for_inner = what == "chunk" || what == "next_row" || what == "last_sweep" || what == "division" || what == "nan",
                 for_across =
                     what == "span" || what == "prefetch" || what == "block" || what == "product" || what == "split" || what == "streams";
      const bool without_sweeps =
          searches(group, chosen) && (what == "lanes" || what == "prefetch" || what == "split" || what == "streams" || what == "block" ||
                                      what == "fixed" || what == "chunk" || what == "division");
      const bool unblocked = what == "streams" && chosen[group.name + ".block"] == 0;
      if (without_sweeps || unblocked || (logs && (what == "block" || what == "streams")) || (for_inner && where == row::lanes::across) ||
          (for_across && where == row::lanes::inner))
        chosen[d.name] = d.values[d.preferred];
    }
  }

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model& machine,
                     const assignment& chosen) const override {
    row::row_program p = *row::analyse(ir, group);
    if (searches(group, chosen)) p = row::with_search(p, *row::find_search(p));
    const auto value = [&](const std::string& what, std::int64_t otherwise) {
      const auto found = chosen.find(group.name + "." + what);
      return found == chosen.end() ? otherwise : found->second;
    };
    row::plan base;
    base.where = lanes_of(p, group, machine, chosen);
    base.unroll = static_cast<int>(value("unroll", 4));
    base.how = static_cast<row::stores>(value("stores", 0));
    base.reciprocal = value("division", 0) != 0;
    base.next_row = base.where == row::lanes::inner && value("next_row", 0) != 0;
    base.behind = base.where == row::lanes::inner && value("last_sweep", 0) != 0;
    base.late_nan = base.where == row::lanes::inner && value("nan", 0) != 0;
    base.chunk = value("chunk", 0);
    base.span = value("span", preferred_span(p));
    base.split_rows = base.where == row::lanes::across && !p.search && value("split", 0) != 0;
    base.prefetch = base.where == row::lanes::across ? value("prefetch", 0) : 0;
    base.block = base.where == row::lanes::across && !p.search ? value("block", 0) : 0;
    base.log_product = base.where == row::lanes::across && multiplies_powers(p) && value("product", 0) != 0;
    if (base.log_product) base.block = 0;
    base.apart = base.block > 0 && value("streams", 0) != 0;
    base.kept.assign(p.statements.size(), false);
    for (const int i : row::keepable(p))
      base.kept[static_cast<std::size_t>(i)] = value("keep_" + p.tensor(p.statements[static_cast<std::size_t>(i)].tensor).name, 0) != 0;
    if (value("fixed", 0) != 0 && !p.search) {
      base.fixed_class = fixed_class(p);
      base.fixed = p.common_extent(base.fixed_class);
    }
    row::plan chosen_plan = row::schedule(p, base);
    chosen_plan.behind = chosen_plan.behind && row::find_deferral(p, chosen_plan);
    return row::emit_source(p, chosen_plan, machine);
  }

 private:
  static row::lanes preferred_lanes(const row::row_program& p, const machine_model& machine) {
    const bool inner = row::lanes_possible(p, row::lanes::inner), across = row::lanes_possible(p, row::lanes::across);
    if (!across) return row::lanes::inner;
    if (!inner) return row::lanes::across;
    const row::plan probe = row::schedule(p, row::plan{});
    std::int64_t longest = 1;
    for (const row::sweep& w : probe.sweeps) longest = std::max(longest, p.typical(w.over.back()));
    const double vectors = std::ceil(static_cast<double>(longest * (p.wide ? 8 : 4)) / machine.vector_bytes);
    const double used = static_cast<double>(longest * (p.wide ? 8 : 4)) / (vectors * machine.vector_bytes);
    const double along = row::lane_cost(p, row::lanes::inner) / used * (1 + lane_reduction_cost / vectors);
    // A few rows don't fill a vector across them.
    const double width = static_cast<double>(machine.vector_bytes) / (p.wide ? 8 : 4);
    const auto neighbours = static_cast<double>(p.typical(row::schedule(p, row::plan_with(row::lanes::across)).lane));
    const double filled = neighbours / (std::ceil(neighbours / width) * width);
    return row::lane_cost(p, row::lanes::across) / filled < along ? row::lanes::across : row::lanes::inner;
  }

  static row::lanes lanes_of(const row::row_program& p, const fusion_group& group, const machine_model& machine, const assignment& chosen) {
    if (searches(group, chosen)) return row::lanes::across;
    const auto found = chosen.find(group.name + ".lanes");
    if (found != chosen.end()) return static_cast<row::lanes>(found->second);
    return preferred_lanes(p, machine);
  }

  static bool searches(const fusion_group& group, const assignment& chosen) {
    const auto found = chosen.find(group.name + ".count");
    return found != chosen.end() && found->second != 0;
  }

  static bool multiplies_powers(const row::row_program& p) {
    return std::any_of(p.statements.begin(), p.statements.end(), [&](const row::row_statement& s) { return row::is_power_product(p, s); });
  }

  static bool streams(const row::row_program& p) {
    return row::can_stream(p, row::plan_with(row::lanes::across)) || row::can_stream(p, row::plan_with(row::lanes::inner));
  }

  static std::int64_t preferred_span(const row::row_program& p) {
    const bool swept =
        std::any_of(p.statements.begin(), p.statements.end(), [](const row::row_statement& s) { return s.kind != row::role::point; });
    return !swept || strides_rows(p) ? 4096 : 256;
  }

  static bool divides_by_row_value(const row::row_program& p) {
    if (p.wide) return false;
    for (const row::row_statement& s : p.statements) {
      if (s.kind == row::role::point) continue;
      for (const expression& e : s.nodes) {
        if (e.kind != expression_kind::call || e.op != operation::divide) continue;
        const bool varies = std::any_of(p.classes.begin(), p.classes.end(), [&](const row::index_class& c) {
          const int index = static_cast<int>(&c - p.classes.data());
          return c.alive && !p.is_parallel(index) && row::depends_on(p, s, e.arguments[1], index);
        });
        if (!varies) return true;
      }
    }
    return false;
  }

  /// Transcendental functions and nested loops cost more than a trip through a buffer.
  static bool worth_keeping(const row::row_program& p, int i) {
    const row::row_statement& s = p.statements[static_cast<std::size_t>(i)];
    if (s.kind == row::role::nested) return true;
    return std::any_of(s.nodes.begin(), s.nodes.end(), [](const expression& e) {
      return e.kind == expression_kind::call && e.op >= operation::exp && e.op <= operation::cos && e.op != operation::sqrt;
    });
  }

  /// Does a sweep across rows read memory in steps that aren't neighbours?
  static bool strides_rows(const row::row_program& p) {
    if (!row::lanes_possible(p, row::lanes::across)) return false;
    const row::plan probe = row::schedule(p, row::plan_with(row::lanes::across));
    for (const row::sweep& w : probe.sweeps)
      for (const int i : w.sinks) {
        const row::row_statement& s = p.statements[static_cast<std::size_t>(i)];
        for (const expression& e : s.nodes) {
          if (e.kind != expression_kind::load || p.written_by(e.symbol) >= 0) continue;
          const row::access step = row::access_of(p, s, e, w.over.back());
          if ((step == row::access::indirect || step == row::access::strided) &&
              row::access_of(p, s, e, probe.lane) == row::access::contiguous)
            return true;
        }
      }
    return false;
  }

  static bool gathers_rows(const row::row_program& p) {
    for (const row::row_statement& s : p.statements)
      for (const expression& e : s.nodes)
        for (const index_expression& position : e.indices)
          if (!position.is_affine && s.kind == row::role::reduce && row::lanes_possible(p, row::lanes::across)) return true;
    return false;
  }

  /// A swept or nested index with one short extent in all workloads, given by an axis of its own; -1 when there is none.
  static int fixed_class(const row::row_program& p) {
    for (std::size_t c = 0; c < p.classes.size(); ++c) {
      const row::index_class& one = p.classes[c];
      const std::int64_t extent = p.common_extent(static_cast<int>(c));
      if (one.alive && !p.is_parallel(static_cast<int>(c)) && one.size.constant == 1 && one.size.axes.size() == 1 && extent > 1 &&
          extent <= row::largest_fixed_extent)
        return static_cast<int>(c);
    }
    return -1;
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_row_grammar() {
  return std::make_unique<row_grammar>();
}

}  // namespace kernsmith::agents
