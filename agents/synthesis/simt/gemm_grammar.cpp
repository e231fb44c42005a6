#include "agents/synthesis/simt/gemm_grammar.hpp"

#include <algorithm>

#include "agents/synthesis/simt/gemm_emit.hpp"
#include "agents/synthesis/simt/gemm_mma_schedule.hpp"
#include "agents/synthesis/simt/product_emit.hpp"

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
    const gemm_plan plan = *plan_gemm(ir, group, lowest_);
    std::vector<decision> all = gemm_decisions(plan, group.name, model(), lowest_);
    const std::optional<product_plan> cores = on_cores(ir, group, plan);
    if (!cores) return all;
    if (all.front().name != group.name + ".units") {
      decision units;
      units.name = group.name + ".units";
      units.values = {warps_value};
      units.labels = {"warps"};
      all.insert(all.begin(), units);
    }
    decision& units = all.front();
    units.values.push_back(cores_value);
    units.labels.push_back("cores");
    units.meaning = "who multiplies: warpgroups (WGMMA) or single warps (mma.sync) on tensor cores, or the ordinary arithmetic units";
    // Only where splitting into planes is what takes long: f64 on tensor cores was seen faster at every size that was measured.
    if (plan.emulated() && product_cost(*cores, prefer_product(*cores, model()), model()) < preferred_gemm_cost(plan, model(), lowest_))
      units.preferred = units.values.size() - 1;
    std::vector<decision> more = product_decisions(*cores, cores_prefix(group), model());
    std::move(more.begin(), more.end(), std::back_inserter(all));
    return all;
  }

  void tidy(const tensor_ir& ir, const fusion_group& group, assignment& chosen) const override {
    const gemm_plan plan = *plan_gemm(ir, group, lowest_);
    const bool cores = is_on_cores(group, chosen);
    // Decisions of the units that don't multiply mean nothing.
    if (on_cores(ir, group, plan))
      for (const decision& d : decide(ir, group))
        if (d.name != group.name + ".units" && d.name.starts_with(cores_prefix(group)) != cores) chosen[d.name] = d.values[d.preferred];
    if (cores)
      normalise_product(*plan_product(ir, group), cores_prefix(group), model(), chosen);
    else
      normalise_gemm(plan, group.name, model(), lowest_, chosen);
  }

  emitted_group write(const tensor_ir& ir, const fusion_group& group, const assignment& chosen) const override {
    const gemm_plan plan = *plan_gemm(ir, group, lowest_);
    if (is_on_cores(group, chosen)) {
      const product_plan cores = *plan_product(ir, group);
      return emit_product(ir, group, cores, read_product_schedule(cores, cores_prefix(group), model(), chosen), model());
    }
    decision_space space;
    space.decisions = gemm_decisions(plan, group.name, model(), lowest_);
    return emit_gemm(plan, read_gemm_schedule(plan, group.name, model(), lowest_, chosen), group, describe(space, chosen));
  }

 private:
  static constexpr std::int64_t warps_value = 1, cores_value = 2;  // of the decision about units; 0: warpgroups

  static std::string cores_prefix(const fusion_group& group) { return group.name + ".cores_"; }

  static bool is_on_cores(const fusion_group& group, const assignment& chosen) {
    const auto units = chosen.find(group.name + ".units");
    return units != chosen.end() && units->second == cores_value;
  }

  /// The product on the ordinary units, where tensor cores aren't faster by far: they are for narrow operands.
  static std::optional<product_plan> on_cores(const tensor_ir& ir, const fusion_group& group, const gemm_plan& plan) {
    if (!plan.emulated() && !plan.wide()) return std::nullopt;
    return plan_product(ir, group);
  }

  dtype lowest_;
};

}  // namespace

std::unique_ptr<group_grammar> make_gemm_grammar(const simt_model& model, dtype lowest) {
  return std::make_unique<gemm_grammar>(model, lowest);
}

}  // namespace kernsmith::agents::simt
