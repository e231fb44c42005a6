// The grammar of products on the ordinary arithmetic units. What tensor cores can do as precisely is the gemm grammar's, which offers these
// units as well.
#include "agents/synthesis/simt/product_emit.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"

namespace kernsmith::agents::simt {
namespace {

class contraction_grammar final : public simt_grammar {
 public:
  using simt_grammar::simt_grammar;
  std::string_view name() const override { return "contraction"; }
  bool accepts(const tensor_ir& ir, const fusion_group& group) const override { return plan_product(ir, group).has_value(); }

  std::vector<decision> decide(const tensor_ir& ir, const fusion_group& group) const override {
    return product_decisions(*plan_product(ir, group), group.name + ".", model());
  }

  void tidy(const tensor_ir& ir, const fusion_group& group, assignment& chosen) const override {
    normalise_product(*plan_product(ir, group), group.name + ".", model(), chosen);
  }

  emitted_group write(const tensor_ir& ir, const fusion_group& group, const assignment& chosen) const override {
    const product_plan plan = *plan_product(ir, group);
    return emit_product(ir, group, plan, read_product_schedule(plan, group.name + ".", model(), chosen), model());
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_contraction_grammar(const simt_model& model) {
  return std::make_unique<contraction_grammar>(model);
}

}  // namespace kernsmith::agents::simt
