#include "agents/synthesis/triton/triton_grammar.hpp"
namespace kernsmith::agents::triton {
namespace {
class product_grammar final : public group_grammar {
 public:
  std::string_view name() const override { return "product"; }
  bool accepts(const tensor_ir&, const fusion_group&) const override { return false; }
  std::vector<decision> decisions(const tensor_ir&, const fusion_group&, const machine_model&) const override { return {}; }
  void normalise(const tensor_ir&, const fusion_group&, const machine_model&, assignment&) const override {}
  emitted_group emit(const tensor_ir&, const fusion_group&, const machine_model&, const assignment&) const override { return {}; }
};
}  // namespace
std::unique_ptr<group_grammar> make_product_grammar() { return std::make_unique<product_grammar>(); }
}  // namespace kernsmith::agents::triton
