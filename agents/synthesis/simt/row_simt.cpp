// The row grammar for SIMT devices: maps, reductions, map-reduce-map chains, scans and gathers over common indices.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/row_grammar_search.hpp"
#include "agents/synthesis/simt/row_simt.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"
#include "agents/synthesis/simt/simt_sinks.hpp"

namespace kernsmith::agents::simt {
namespace {

/// Static shared memory that a block may declare.
constexpr std::int64_t static_shared_bytes = 48 << 10;
/// Borders whose search tree fits shared memory together with what sorts them.
constexpr std::int64_t most_borders = 12288;
/// Elements of a row from which on blocks may share it by clusters.
constexpr std::int64_t longest_block_row = 8192;
/// Bytes of one access that hardware moves at once.
constexpr std::int64_t access_bytes = 16;

decision numbers(const std::string& name, std::vector<std::int64_t> values, std::int64_t preferred, double weight, std::string meaning) {
  decision d{name, std::move(values), {}, 0, weight, std::move(meaning)};
  for (std::size_t i = 1; i < d.values.size(); ++i)
    if (std::abs(d.values[i] - preferred) < std::abs(d.values[d.preferred] - preferred)) d.preferred = i;
  return d;
}

std::int64_t power_at_least(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

class row_grammar final : public simt_grammar {
 public:
  using simt_grammar::simt_grammar;
  std::string_view name() const override { return "row"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override {
    const std::optional<simt_program> p = analyse_simt(ir, group);
    return p && (inner_lane(*p) || across_lane(*p));
  }

  std::vector<decision> decide(const tensor_ir& ir, const fusion_group& group) const override {
    const simt_program p = *analyse_simt(ir, group);
    const std::string prefix = group.name + ".";
    std::vector<decision> all;
    const bool searches = row::find_search(p.rows).has_value();
    if (searches)
      all.push_back(
          {prefix + "count", {0, 1}, {"loop", "search"}, 1, 1.0, "compare with every border, or search a tree of them in shared memory"});
    const bool inner = inner_lane(p).has_value(), across = across_lane(p).has_value();
    if (inner && across)
      all.push_back({prefix + "threads_lie",
                     {0, 1},
                     {"along", "across"},
                     prefers_across(p) ? 1U : 0U,
                     1.0,
                     "threads along a row, which they reduce together, or across rows, each with rows of its own"});
    const guess first = first_guess(p);
    all.push_back(numbers(prefix + "vector", {1, 2, 4, 8, 16}, first.vector, 2.0, "neighbouring elements that one access moves"));
    if (inner) {
      all.push_back(
          numbers(prefix + "vectors", {1, 2, 4, 8, 16}, first.vectors, 2.0, "accesses per thread and tensor that a row is spread for"));
      all.push_back(
          numbers(prefix + "block", {32, 64, 128, 256, 512}, first.block, 1.0, "threads per block at least, where rows take fewer"));
      if (model().language == dialect::cuda && p.typical({*inner_lane(p)}) > longest_block_row)
        all.push_back(numbers(prefix + "cluster", {1, 2, 4, 8}, first.cluster, 1.5, "blocks that share a long row that is kept"));
      all.push_back({prefix + "keep",
                     {0, 1, 2},
                     {"registers", "shared", "again"},
                     static_cast<std::size_t>(first.keep),
                     1.0,
                     "where a row stays between sweeps; again: it is read again"});
    }
    if (across) {
      if (tile_class(p))
        all.push_back(
            numbers(prefix + "tile", {0, 32, 64}, 64, 1.5, "edge of the tiles that turn transposed inputs in shared memory; 0: none"));
      if (searches || !sweeps(p))
        all.push_back(
            numbers(prefix + "items", {1, 2, 4, 8}, first.items, 2.0, "packs per thread and step, all loaded before the first is used"));
      all.push_back(numbers(prefix + "threads", {64, 128, 256, 512}, first.threads, 1.0, "threads per block"));
      if (sweeps(p))
        all.push_back(numbers(prefix + "slices", {1, 2, 4, 8, 16, 32}, first.slices, 1.5, "threads of a block that share one sweep"));
    }
    if (has_functions(p))
      all.push_back({prefix + "functions",
                     {0, 1},
                     {"accurate", "fast"},
                     prefers_fast(p) ? 1U : 0U,
                     1.0,
                     "exp, log, pow, erf, tanh and sigmoid of floats: as precise as float, or by the hardware's approximations"});
    if (splittable(p, row::lanes::inner) || splittable(p, row::lanes::across))
      all.push_back(
          numbers(prefix + "splits", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, first.splits, 1.5, "blocks that share one sweep"));
    all.push_back({prefix + "loads", {0, 1}, {"cached", "streaming"}, 0, 0.7, "whether what is read once goes first from the caches"});
    all.push_back({prefix + "stores",
                   {0, 1},
                   {"cached", "streaming"},
                   first.stream_stores ? 1U : 0U,
                   0.7,
                   "whether results go first from the caches"});
    return all;
  }

  void tidy(const tensor_ir& ir, const fusion_group& group, assignment& chosen) const override {
    const simt_program p = *analyse_simt(ir, group);
    const std::string prefix = group.name + ".";
    const std::vector<decision> all = decide(ir, group);
    const auto reset = [&](std::initializer_list<const char*> names) {
      for (const char* n : names)
        for (const decision& d : all)
          if (d.name == prefix + n) chosen[d.name] = d.values[d.preferred];
    };
    if (get(chosen, prefix + "count", 0) == 1) return reset({"threads_lie", "vectors", "block", "keep", "slices", "splits", "loads"});
    const bool across = is_across(p, prefix, chosen);
    if (across)
      reset({"vectors", "block", "keep", "cluster"});
    else
      reset({"items", "threads", "slices", "tile"});
    if (sweeps(p)) reset({"items"});
    if (across && get(chosen, prefix + "tile", 0) > 0) reset({"items"});
    if (across) bound_tile(p, prefix, chosen);
    if (!splittable(p, across ? row::lanes::across : row::lanes::inner)) reset({"splits"});
    if (!across && get(chosen, prefix + "splits", 1) > 1) reset({"vectors", "block", "keep", "cluster"});
    if (across && sweeps(p)) bound_shared(p, prefix, chosen);
  }

  emitted_group write(const tensor_ir& ir, const fusion_group& group, const assignment& chosen) const override {
    simt_program p = *analyse_simt(ir, group);
    const std::string prefix = group.name + ".";
    p.fast = get(chosen, prefix + "functions", 0) == 1;
    const bool searches = get(chosen, prefix + "count", 0) == 1;
    row_code code;
    if (searches)
      code = write_search(p, choose_across(prefix, chosen), model().language == dialect::cuda);
    else if (is_across(p, prefix, chosen))
      code = write_across(p, choose_across(prefix, chosen));
    else
      code = write_inner(p, model(), choose_inner(prefix, chosen));
    emitted_group emitted;
    emitted.functions = code.functions;
    emitted.scratch_bytes = code.scratch_bytes;
    std::string arguments = argument_text(ir, host_parameters(p));
    if (!code.scratch_bytes.empty()) arguments += (arguments.empty() ? "" : ", ") + ("ks_scratch_" + group.name);
    emitted.call = call_of(group.name + "_launch", arguments);
    if (searches)
      emitted.call = fmt::format("if ({} > {}) {{\n  {}}} else {{\n  {}}}\n", border_count(ir, p), most_borders,
                                 call_of(group.name + "_by_loop_launch", arguments), emitted.call);
    emitted.preludes = code.preludes;
    if (p.fast) emitted.preludes.insert("fast");
    for (const row::row_statement& s : p.rows.statements)
      if (s.stored && ir.tensors[static_cast<std::size_t>(s.tensor)].role == tensor_role::intermediate) emitted.stored.push_back(s.tensor);
    return emitted;
  }

 private:
  struct guess {
    std::int64_t vector = 4, vectors = 4, block = 128, items = 1, threads = 256, slices = 1, splits = 1, cluster = 1;
    keeping keep = keeping::registers;
    bool stream_stores = false;
  };

  static bool has_functions(const simt_program& p) {
    if (p.rows.wide) return false;
    for (const row::row_statement& s : p.rows.statements)
      for (const expression& e : s.nodes)
        if (e.kind == expression_kind::call && !fast_function(e.op).empty()) return true;
    return false;
  }

  /// Instructions of the accurate function, roughly; of other nodes 2.
  static double instructions(const expression& e) {
    if (e.kind != expression_kind::call) return 2;
    switch (e.op) {
      case operation::pow:
        return 80;
      case operation::tanh:
      case operation::erf:
        return 24;
      case operation::sigmoid:
      case operation::sin:
      case operation::cos:
        return 20;
      case operation::exp:
      case operation::log:
      case operation::log1p:
      case operation::expm1:
        return 10;
      default:
        return 2;
    }
  }

  /// Results of 16 bits or fewer lose more by rounding; others are worth it where arithmetic would take longer than memory.
  bool prefers_fast(const simt_program& p) const {
    const bool small = std::all_of(p.rows.statements.begin(), p.rows.statements.end(), [&](const row::row_statement& s) {
      return !s.stored || !is_float(p.tensor(s.tensor).type) || size_of(p.tensor(s.tensor).type) <= 2;
    });
    if (small) return true;
    constexpr double lanes = 128, clock_hz = 1.7e9, sustained = 0.5, bytes_per_gb = 1e9;
    double work = 0, bytes = 0;
    for (const row::row_statement& s : p.rows.statements) {
      std::set<int> over(s.target.begin(), s.target.end());
      over.insert(s.bound.begin(), s.bound.end());
      double each = 0;
      for (const expression& e : s.nodes) {
        each += instructions(e);
        if (e.kind == expression_kind::load && p.rows.written_by(e.symbol) < 0) bytes += bytes_of(p, e.symbol);
      }
      if (s.stored) bytes += bytes_of(p, s.tensor);
      work += each * static_cast<double>(p.typical({over.begin(), over.end()}));
    }
    const double arithmetic_s = work / (static_cast<double>(model().multiprocessors) * lanes * clock_hz * sustained);
    return arithmetic_s > bytes / (model().memory_gb_per_s * bytes_per_gb);
  }

  static double bytes_of(const simt_program& p, int tensor) {
    double most = 0;
    for (const workload& w : p.flat.workloads)
      most = std::max(most, static_cast<double>(element_count(shape_of(p.tensor(tensor), w.axes))));
    return most * static_cast<double>(size_of(p.tensor(tensor).type));
  }

  static across_choice choose_across(const std::string& prefix, const assignment& chosen) {
    across_choice choice;
    choice.vector = get(chosen, prefix + "vector", 1);
    choice.items = get(chosen, prefix + "items", 1);
    choice.threads = get(chosen, prefix + "threads", choice.threads);
    choice.slices = get(chosen, prefix + "slices", 1);
    choice.splits = get(chosen, prefix + "splits", 1);
    choice.tile = get(chosen, prefix + "tile", 0);
    choice.stream_loads = get(chosen, prefix + "loads", 0) != 0;
    choice.stream_stores = get(chosen, prefix + "stores", 0) != 0;
    return choice;
  }

  static inner_choice choose_inner(const std::string& prefix, const assignment& chosen) {
    inner_choice choice;
    choice.vector = get(chosen, prefix + "vector", 1);
    choice.vectors = get(chosen, prefix + "vectors", choice.vectors);
    choice.block = get(chosen, prefix + "block", choice.block);
    choice.splits = get(chosen, prefix + "splits", 1);
    choice.cluster = get(chosen, prefix + "cluster", 1);
    choice.keep = static_cast<keeping>(get(chosen, prefix + "keep", 0));
    choice.stream_loads = get(chosen, prefix + "loads", 0) != 0;
    choice.stream_stores = get(chosen, prefix + "stores", 0) != 0;
    return choice;
  }

  /// The search, and the comparison with every border for more borders than shared memory holds a tree of.
  static row_code write_search(const simt_program& p, across_choice choice, bool bank_copies) {
    choice.bank_copies = bank_copies;
    simt_program searched = p, compared = p;
    searched.rows = row::with_search(searched.rows, *row::find_search(p.rows));
    compared.rows.name += "_by_loop";
    across_choice plain = choice;
    plain.slices = plain.splits = 1;
    row_code code = write_across(searched, choice);
    const row_code otherwise = write_across(compared, plain);
    code.functions += "\n" + otherwise.functions;
    code.preludes.insert(otherwise.preludes.begin(), otherwise.preludes.end());
    return code;
  }

  /// In the names of launch().
  static std::string border_count(const tensor_ir& ir, const simt_program& p) {
    const row::counted_search search = *row::find_search(p.rows);
    return product_text(ir, ir.tensors[static_cast<std::size_t>(search.borders)].shape);
  }

  static std::int64_t get(const assignment& chosen, const std::string& name, std::int64_t otherwise) {
    const auto found = chosen.find(name);
    return found == chosen.end() ? otherwise : found->second;
  }

  static bool prefers_across(const simt_program& p) { return access_cost(p, *across_lane(p)) < access_cost(p, *inner_lane(p)); }

  static bool is_across(const simt_program& p, const std::string& prefix, const assignment& chosen) {
    if (!inner_lane(p)) return true;
    return across_lane(p) && get(chosen, prefix + "threads_lie", 0) == 1;
  }

  static bool sweeps(const simt_program& p) { return !row::schedule(p.rows, row::plan_with(row::lanes::inner)).sweeps.empty(); }

  static bool splittable(const simt_program& p, row::lanes where) {
    if (where == row::lanes::inner ? !inner_lane(p).has_value() : !across_lane(p).has_value()) return false;
    return can_split(p, row::schedule(p.rows, row::plan_with(where)));
  }

  /// Tiles of all turned inputs stand in static shared memory.
  static void bound_tile(const simt_program& p, const std::string& prefix, assignment& chosen) {
    std::int64_t bytes = 0;
    for (const row::row_statement& s : p.rows.statements)
      for (const expression& e : s.nodes)
        if (e.kind == expression_kind::load) bytes += static_cast<std::int64_t>(size_of(p.tensor(e.symbol).type));
    const auto tile = chosen.find(prefix + "tile");
    if (tile == chosen.end() || tile->second == 0) return;
    if (tile->second * (tile->second + 4) * bytes > static_shared_bytes) tile->second = 32;
    if (tile->second * (tile->second + 4) * bytes > static_shared_bytes) tile->second = 0;
    if (tile->second > 0) chosen[prefix + "vector"] = std::min<std::int64_t>(chosen[prefix + "vector"], 8);
  }

  /// The merging of slices keeps every accumulator in static shared memory.
  void bound_shared(const simt_program& p, const std::string& prefix, assignment& chosen) const {
    const row::plan plan = row::schedule(p.rows, row::plan_with(row::lanes::across));
    const lane_code code(p);
    std::int64_t bytes = 0;
    for (const row::sweep& w : plan.sweeps)
      for (const int i : w.sinks) {
        if (p.at(i).kind != row::role::reduce) continue;
        const accumulator a = accumulator_of(p, code, i);
        bytes += a.is_position ? 16 : a.type == "float" ? 4 : 8;
      }
    std::int64_t& threads = chosen[prefix + "threads"];
    std::int64_t& vector = chosen[prefix + "vector"];
    while (chosen[prefix + "slices"] > 1 && threads * vector * bytes > static_shared_bytes && threads > 64) threads /= 2;
    while (chosen[prefix + "slices"] > 1 && threads * vector * bytes > static_shared_bytes && vector > 1) vector /= 2;
  }

  guess first_guess(const simt_program& given) const {
    guess g;
    simt_program p = given;
    if (const std::optional<row::counted_search> search = row::find_search(given.rows)) p.rows = row::with_search(given.rows, *search);
    const bool across = !inner_lane(p) || (across_lane(p) && prefers_across(p));
    const row::plan plan = row::schedule(p.rows, row::plan_with(across ? row::lanes::across : row::lanes::inner));
    const int lane = across ? *across_lane(p) : *inner_lane(p);
    const row_traffic traffic = traffic_along(p, lane);
    // Whole accesses of the narrowest tensor, as long as the widest takes no more than two.
    g.vector = std::max<std::int64_t>(1, std::min(access_bytes / traffic.narrowest, 2 * access_bytes / traffic.widest));
    if (p.rows.search) g.vector *= 2;                                         // more searches side by side
    if (p.rows.search && model().language == dialect::cuda) g.threads = 512;  // that share the borders in shared memory
    g.stream_stores = writes_much(p);
    if (across)
      guess_across(p, plan, g);
    else
      guess_inner(p, plan, lane, traffic, g);
    return g;
  }

  /// Do the results go beyond the last cache anyway?
  bool writes_much(const simt_program& p) const {
    for (const workload& w : p.flat.workloads) {
      std::int64_t bytes = 0;
      for (const row::row_statement& s : p.rows.statements)
        if (s.stored)
          bytes += element_count(shape_of(p.tensor(s.tensor), w.axes)) * static_cast<std::int64_t>(size_of(p.tensor(s.tensor).type));
      if (bytes > model().l2_bytes) return true;
    }
    return false;
  }

  void guess_across(const simt_program& p, const row::plan& plan, guess& g) const {
    const std::int64_t rows = p.typical(p.rows.parallel);
    g.items = has_functions(p) ? 4 : 1;
    if (plan.sweeps.empty()) return;
    // Enough threads to hide latency, out of slices of blocks first, then out of blocks.
    const std::int64_t packs = std::max<std::int64_t>(1, rows / g.vector);
    const std::int64_t wanted = model().multiprocessors * model().threads_per_multiprocessor;
    const std::int64_t missing = wanted / packs;
    std::int64_t swept = 1;
    for (const int c : plan.sweeps[0].over) swept = std::max(swept, p.typical({c}));
    g.slices = std::clamp<std::int64_t>(power_at_least(missing), 1, 16);
    g.slices = std::min(g.slices, power_at_least(std::max<std::int64_t>(1, swept / 4)));
    if (g.slices < 8) g.threads = 128;
    constexpr std::int64_t steps_per_thread = 8;
    g.splits = std::clamp<std::int64_t>(missing / g.slices, 1, std::max<std::int64_t>(1, swept / (g.slices * steps_per_thread)));
  }

  void guess_inner(const simt_program& p, const row::plan& plan, int lane, const row_traffic& traffic, guess& g) const {
    const std::int64_t rows = p.typical(p.rows.parallel);
    // Lengths differ between workloads: the decision is made for the first, and each gets the threads that it needs (write_inner).
    const auto length = [&](const workload& w) {
      return extent_of(p.flat.statements[0].variables[static_cast<std::size_t>(lane)].extent, w.axes);
    };
    const std::int64_t n = length(p.flat.workloads[0]);
    // Accesses of half the size are better than packs that the ends of rows cut.
    const auto divides = [&](std::int64_t vector) {
      return std::all_of(p.flat.workloads.begin(), p.flat.workloads.end(), [&](const workload& w) { return length(w) % vector == 0; });
    };
    if (g.vector > 1 && !divides(g.vector) && divides(g.vector / 2)) g.vector /= 2;
    const std::int64_t packs = std::max<std::int64_t>(1, n / g.vector);
    // A warp holds short rows without a barrier; longer ones are spread over as many threads as keep several accesses each.
    constexpr std::int64_t warp_accesses = 8;
    constexpr std::int64_t thread_packs = 2;  // a row that one thread takes whole
    g.vectors = packs <= thread_packs                        ? thread_packs
                : packs <= model().warp_size                 ? 1
                : packs <= warp_accesses * model().warp_size ? warp_accesses
                                                             : 4;
    if (traffic.kept_tensors > 1) g.vectors = std::max<std::int64_t>(1, g.vectors / 2);
    const std::int64_t most = 1024;
    while (g.vectors < 16 && packs > g.vectors * most) g.vectors *= 2;
    // Blocks share a row that is too long for the shared memory of one.
    constexpr std::int64_t most_cluster = 8;
    const std::int64_t longest = p.typical({lane}) * traffic.kept_bytes_per_element;
    if (model().language == dialect::cuda)
      while (g.cluster < most_cluster && longest > model().shared_bytes_per_block * g.cluster) g.cluster *= 2;
    if (n * traffic.kept_bytes_per_element > model().shared_bytes_per_block * g.cluster) g.keep = keeping::again;
    g.block = 128;
    if (can_split(p, plan) && rows < 2 * model().multiprocessors) {
      constexpr std::int64_t blocks_per_multiprocessor = 8;
      g.splits = std::max<std::int64_t>(1, model().multiprocessors * blocks_per_multiprocessor / rows);
    }
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_row_grammar(const simt_model& model) {
  return std::make_unique<row_grammar>(model);
}

}  // namespace kernsmith::agents::simt
