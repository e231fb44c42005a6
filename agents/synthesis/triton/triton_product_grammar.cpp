// The product grammar for Triton: what is decided about products.
#include <algorithm>
#include <bit>

#include "agents/synthesis/triton/triton_grammar.hpp"
#include "agents/synthesis/triton/triton_product.hpp"
#include "agents/synthesis/triton/triton_rows.hpp"
#include "agents/synthesis/triton/triton_tile.hpp"

namespace kernsmith::agents::triton {
namespace {

using simt::simt_program;

/// Shared memory of a block on sm_90 (227 KiB), less what the compiler takes for itself.
constexpr std::int64_t shared_bytes = 224 << 10;
constexpr std::int64_t warp_lanes = 32;
/// Sums, and unrolled products, of a lane.
constexpr std::int64_t lane_sums = 256, lane_products = 8192;
/// Programs that keep a large device busy, one for each of its multiprocessors.
constexpr std::int64_t busy_programs = 132;

std::int64_t operand_bytes(const product& found) {
  if (found.raw) return static_cast<std::int64_t>(size_of(*found.raw));
  return found.wide ? 8 : 4;
}

std::int64_t fitting_block(std::int64_t extent, std::int64_t most, std::int64_t least) {
  return std::clamp(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extent))), least, most);
}

product_choice first_guess(const simt_program& p, const product& found) {
  product_choice first;
  const std::int64_t bytes = operand_bytes(found), m = p.typical(found.down), n = p.typical(found.across), k = p.typical(found.along);
  // Matrix units take large tiles; ordinary ones keep their sums in registers.
  const std::int64_t most = found.raw ? 128 : 64;
  first.block_m = fitting_block(m, most, 16);
  first.block_n = fitting_block(n, most, 16);
  first.block_k = fitting_block(k, bytes == 1 ? 128 : bytes == 2 ? 64 : bytes == 4 ? 32 : 16, bytes == 1 ? 32 : 16);
  const auto programs = [&] {
    return ((m + first.block_m - 1) / first.block_m) * ((n + first.block_n - 1) / first.block_n) * p.typical(found.batch);
  };
  while (programs() < busy_programs && std::max(first.block_m, first.block_n) > 32)
    (first.block_m >= first.block_n ? first.block_m : first.block_n) /= 2;
  first.warps = first.block_m * first.block_n >= 128 * 128 ? 8 : 4;
  return first;
}

class product_grammar final : public group_grammar {
 public:
  std::string_view name() const override { return "product"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override {
    const std::optional<analysis> made = analyse(ir, group);
    return made && find_product(made->p);
  }

  std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group, const machine_model&) const override {
    const analysis made = *analyse(ir, group);
    const product found = *find_product(made.p);
    const product_choice first = first_guess(made.p, found);
    const std::string prefix = group.name + ".";
    std::vector<std::int64_t> steps = {16, 32, 64, 128};
    if (found.raw == dtype::i8) steps.erase(steps.begin());  // tl.dot takes no fewer of 8 bits
    return {numbers(prefix + "block_m", {16, 32, 64, 128, 256}, first.block_m, 2.0, "rows of a program's tile"),
            numbers(prefix + "block_n", {16, 32, 64, 128, 256}, first.block_n, 2.0, "columns of a program's tile"),
            numbers(prefix + "block_k", std::move(steps), first.block_k, 2.0, "products that a step sums up"),
            numbers(prefix + "warps", {1, 2, 4, 8, 16}, first.warps, 1.5, "warps of a program"),
            numbers(prefix + "stages", {1, 2, 3, 4, 5}, first.stages, 1.5, "steps whose operands are on their way at once"),
            numbers(prefix + "band", {1, 2, 4, 8, 16}, first.band, 1.0,
                    "rows of tiles that run side by side, so that the second-level cache serves them")};
  }

  /// A lane has its sums in registers; ordinary multiplications are unrolled, and there is an end to what compilers bear; no more stages
  /// than shared memory holds.
  void normalise(const tensor_ir& ir, const fusion_group& group, const machine_model&, assignment& chosen) const override {
    const analysis made = *analyse(ir, group);
    const product found = *find_product(made.p);
    const auto value = [&](const char* name) -> std::int64_t& { return chosen.at(group.name + "." + name); };
    const std::int64_t sums = value("block_m") * value("block_n"), least_k = found.raw == dtype::i8 ? 32 : 16;
    value("warps") = std::max(value("warps"), sums / (warp_lanes * lane_sums));
    while (!found.raw && value("block_k") > least_k && sums * value("block_k") > value("warps") * warp_lanes * lane_products)
      value("block_k") /= 2;
    const std::int64_t stage = (value("block_m") + value("block_n")) * value("block_k") * operand_bytes(found);
    value("stages") = std::clamp<std::int64_t>(shared_bytes / stage, 1, value("stages"));
  }

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model&, const assignment& chosen) const override {
    const analysis made = *analyse(ir, group);
    const auto value = [&](const char* name) { return chosen.at(group.name + "." + name); };
    const product_choice choice{value("block_m"), value("block_n"), value("block_k"), value("band"), value("warps"), value("stages")};
    emitted_group emitted;
    emitted.functions = write_product(made.p, *find_product(made.p), *made.ir, choice);
    emitted.call = call_rows(made.p, *made.ir);
    for (const row::row_statement& s : made.p.rows.statements)
      if (s.stored && ir.tensors[static_cast<std::size_t>(s.tensor)].role == tensor_role::intermediate) emitted.stored.push_back(s.tensor);
    return emitted;
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_product_grammar() {
  return std::make_unique<product_grammar>();
}

}  // namespace kernsmith::agents::triton
