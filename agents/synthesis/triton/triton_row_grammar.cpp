// The row grammar for Triton: what is decided about row programs.
#include <algorithm>
#include <bit>
#include <memory>

#include "agents/synthesis/simt/row_simt.hpp"
#include "agents/synthesis/triton/triton_grammar.hpp"
#include "agents/synthesis/triton/triton_rows.hpp"
#include "agents/synthesis/triton/triton_tile.hpp"

namespace kernsmith::agents::triton {
namespace {

using simt::simt_program;

std::int64_t get(const assignment& chosen, const std::string& name, std::int64_t otherwise) {
  const auto found = chosen.find(name);
  return found == chosen.end() ? otherwise : found->second;
}

std::int64_t power_of_two(std::int64_t least) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, least))));
}

/// Programs that keep a device busy: two for each of a large one's multiprocessors.
constexpr std::int64_t busy_programs = 264;
/// Longest row that is preferably held whole: 64 elements for each lane of eight warps.
constexpr std::int64_t preferred_whole = 16384;

/// The classes of the longest sweep.
std::vector<int> longest_sweep(const simt_program& p) {
  std::vector<int> longest;
  for (const row::sweep& w : row::schedule(p.rows, row::plan_with(row::lanes::inner)).sweeps)
    if (longest.empty() || p.typical(w.over) > p.typical(longest)) longest = w.over;
  return longest;
}

row_choice first_guess(const simt_program& p) {
  row_choice first;
  if (!sweeps(p)) {
    if (!across_class(p)) return first;
    first.tile = 4096;
    first.rows = 64;
    return first;
  }
  const std::vector<int> over = longest_sweep(p);
  const std::int64_t length = p.typical(over), rows = p.typical(p.rows.parallel);
  const bool across = !p.rows.parallel.empty() && (simt::access_cost(p, p.rows.parallel.back()) < simt::access_cost(p, over.back()));
  if (across) {
    // Neighbouring rows lie side by side in memory.
    first.rows = std::min<std::int64_t>(128, power_of_two(p.typical({p.rows.parallel.back()})));
    first.tile = std::min<std::int64_t>(4096, first.rows * power_of_two(length));
  } else {
    first.tile = std::min<std::int64_t>(4096, power_of_two(length));
    if (first.tile < 1024) first.tile = std::min<std::int64_t>(1024, first.tile * power_of_two(rows));
    first.rows = std::max<std::int64_t>(1, first.tile / power_of_two(length));
    if (can_hold(p) && length > 1) first.whole = preferred_whole;
  }
  const std::int64_t programs = std::max<std::int64_t>(1, rows / first.rows), block = std::max<std::int64_t>(1, first.tile / first.rows);
  if (can_share(p) && length > preferred_whole / 4 && programs < busy_programs / 2) {
    first.whole = 0;
    first.split = std::clamp<std::int64_t>(power_of_two(busy_programs / programs) / 2, 1,
                                           std::max<std::int64_t>(1, power_of_two(length / block) / 2));
  }
  first.warps = first.tile >= 4096 ? 8 : 4;
  return first;
}

class row_grammar final : public group_grammar {
 public:
  std::string_view name() const override { return "row"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override {
    const std::optional<analysis> made = analyse(ir, group);
    return made && can_write(made->p);
  }

  std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group, const machine_model&) const override {
    const analysis made = *analyse(ir, group);
    const simt_program& p = made.p;
    const std::string prefix = group.name + ".";
    const row_choice first = first_guess(p);
    const bool sweeping = sweeps(p);
    std::vector<decision> all;
    all.push_back(
        numbers(prefix + "tile", {128, 256, 512, 1024, 2048, 4096, 8192, 16384}, first.tile, 2.0, "elements that a program takes at once"));
    if ((sweeping || across_class(p)) && !p.rows.parallel.empty())
      all.push_back(
          numbers(prefix + "rows", {1, 2, 4, 8, 16, 32, 64, 128, 256}, first.rows, 2.0, "rows of a tile; a block of a row is tile / rows"));
    if (can_hold(p))
      all.push_back(numbers(prefix + "whole", {0, 1024, 4096, 16384, 65536}, first.whole, 1.5,
                            "longest row that a program holds whole, as many rows as make a tile; 0: rows are swept block by block"));
    if (can_share(p))
      all.push_back(
          numbers(prefix + "split", {1, 2, 4, 8, 16, 32, 64, 128, 256}, first.split, 1.5, "programs that share a row that is swept"));
    all.push_back(numbers(prefix + "warps", {1, 2, 4, 8, 16}, first.warps, 1.5, "warps of a program"));
    if (sweeping) all.push_back(numbers(prefix + "stages", {1, 2, 3, 4}, 1, 1.0, "blocks of a sweep that are on their way at once"));
    return all;
  }

  /// A tile has no more rows than elements; a lane, no more elements than it has registers for.
  void normalise(const tensor_ir&, const fusion_group& group, const machine_model&, assignment& chosen) const override {
    const std::string prefix = group.name + ".";
    const auto rows = chosen.find(prefix + "rows");
    const std::int64_t tile = chosen.at(prefix + "tile");
    if (rows != chosen.end()) rows->second = std::min(rows->second, tile);
    std::int64_t& warps = chosen.at(prefix + "warps");
    warps = std::max(warps, tile / warp_elements);
  }

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model&, const assignment& chosen) const override {
    const analysis made = *analyse(ir, group);
    const std::string prefix = group.name + ".";
    row_choice choice;
    choice.tile = get(chosen, prefix + "tile", choice.tile);
    choice.rows = get(chosen, prefix + "rows", 1);
    choice.whole = get(chosen, prefix + "whole", 0);
    choice.split = get(chosen, prefix + "split", 1);
    choice.warps = get(chosen, prefix + "warps", choice.warps);
    choice.stages = get(chosen, prefix + "stages", 1);
    emitted_group emitted;
    emitted.functions = write_rows(made.p, *made.ir, choice);
    emitted.call = call_rows(made.p, *made.ir);
    for (const row::row_statement& s : made.p.rows.statements)
      if (s.stored && ir.tensors[static_cast<std::size_t>(s.tensor)].role == tensor_role::intermediate) emitted.stored.push_back(s.tensor);
    return emitted;
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_row_grammar() {
  return std::make_unique<row_grammar>();
}

}  // namespace kernsmith::agents::triton
