#include "agents/synthesis/simt/gemm_grammar.hpp"

#include <algorithm>

#include "agents/synthesis/simt/gemm_emit.hpp"

namespace kernsmith::agents::simt {
namespace {

/// With fewer rows or columns, splitting the large operand into planes takes longer than multiplying it on ordinary cores.
constexpr std::int64_t least_emulated = 64;
/// One row is no matrix product but a row of dot products.
constexpr std::int64_t least_rows = 2;

bool worth_it(const gemm_plan& plan) {
  const gemm_sizes size = sizes_of(plan);
  return std::min(size.rows, size.columns) >= (plan.emulated() ? least_emulated : least_rows);
}

class gemm_grammar final : public simt_grammar {
 public:
  gemm_grammar(const simt_model& model, dtype lowest) : simt_grammar(model), lowest_(lowest) {}

  std::string_view name() const override { return "gemm"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override {
    const std::optional<gemm_plan> plan = plan_gemm(ir, group, lowest_);
    if (!plan || !worth_it(*plan)) return false;
    const gemm_units units = units_of(*plan, model());
    return units.warpgroups || units.warps;
  }

  std::vector<decision> decide(const tensor_ir& ir, const fusion_group& group) const override {
    return gemm_decisions(*plan_gemm(ir, group, lowest_), group.name, model(), lowest_);
  }

  void tidy(const tensor_ir& ir, const fusion_group& group, assignment& chosen) const override {
    normalise_gemm(*plan_gemm(ir, group, lowest_), group.name, model(), lowest_, chosen);
  }

  emitted_group write(const tensor_ir& ir, const fusion_group& group, const assignment& chosen) const override {
    const gemm_plan plan = *plan_gemm(ir, group, lowest_);
    decision_space space;
    space.decisions = gemm_decisions(plan, group.name, model(), lowest_);
    return emit_gemm(plan, read_gemm_schedule(plan, group.name, model(), lowest_, chosen), group, describe(space, chosen));
  }

 private:
  dtype lowest_;
};

}  // namespace

std::unique_ptr<group_grammar> make_gemm_grammar(const simt_model& model, dtype lowest) {
  return std::make_unique<gemm_grammar>(model, lowest);
}

}  // namespace kernsmith::agents::simt
