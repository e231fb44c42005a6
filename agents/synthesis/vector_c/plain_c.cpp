// One statement as plain C loops: whatever the definition language can say. Decisions are hints to the compiler.
#include <fmt/format.h>

#include "agents/synthesis/vector_c/c_element.hpp"
#include "agents/synthesis/vector_c/c_emission.hpp"
#include "agents/synthesis/vector_c/c_scalar.hpp"
#include "agents/synthesis/vector_c/vector_c_grammar.hpp"

namespace kernsmith::agents::vector_c {
namespace {

constexpr const char* unroll_name = ".unroll";
constexpr const char* vectorise_name = ".vectorise";
constexpr const char* reassociate_name = ".reassociate";

class plain_emitter {
 public:
  plain_emitter(const tensor_ir& ir, const fusion_group& group, const assignment& chosen)
      : ir_(ir), name_(group.name), s_(ir.statements[static_cast<std::size_t>(group.statements[0])]), scalar_(ir, s_), chosen_(chosen) {}

  std::string function(const std::vector<int>& statements) {
    out_.line("// " + s_.text);
    out_.open(fmt::format("static void {}_plain({})", name_, declare_c_parameters(ir_, statements)));
    if (chosen_of(reassociate_name, 0) != 0) out_.line("#pragma clang fp reassociate(on)");
    const std::vector<int> outer = element_variables(s_);
    for (std::size_t i = 0; i < outer.size(); ++i) open_loop(outer[i], !is_reduction(s_) && i + 1 == outer.size());
    write_element(out_, s_, scalar_, {[this](int variable, bool innermost) { open_loop(variable, innermost); }});
    for (std::size_t i = 0; i < outer.size(); ++i) out_.close();
    out_.close();
    return out_.text();
  }

 private:
  [[nodiscard]] std::int64_t chosen_of(const char* decision, std::int64_t otherwise) const {
    const auto found = chosen_.find(name_ + decision);
    return found == chosen_.end() ? otherwise : found->second;
  }

  void open_loop(int variable, bool innermost) {
    if (innermost) {
      std::string hints;
      const std::int64_t width = chosen_of(vectorise_name, 0), unroll = chosen_of(unroll_name, 1);
      if (width > 0) hints += fmt::format(" vectorize_width({}, scalable)", width);
      if (unroll > 1) hints += fmt::format(" {}({})", width > 0 ? "interleave_count" : "unroll_count", unroll);
      if (!hints.empty()) out_.line("#pragma clang loop" + hints);
    }
    out_.open_loop(scalar_.index_name(variable), c_extent(ir_, s_.variables[static_cast<std::size_t>(variable)].extent));
  }

  const tensor_ir& ir_;
  std::string name_;
  const statement& s_;
  c_scalar scalar_;
  const assignment& chosen_;
  source_writer out_;
};

class plain_grammar final : public group_grammar {
 public:
  explicit plain_grammar(const vector_model& model) : model_(model) {}
  std::string_view name() const override { return "plain C"; }
  bool accepts(const tensor_ir&, const fusion_group& group) const override { return group.statements.size() == 1; }

  std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group, const machine_model&) const override {
    std::vector<decision> all;
    all.push_back({group.name + unroll_name, {1, 2, 4, 8}, {}, 0, 1.0, "turns of the innermost loop made at once"});
    if (model_.dialect != target_dialect::rvv) return all;
    all.push_back({group.name + vectorise_name,
                   {0, 1, 2, 4},
                   {"compiler's choice", "half a register", "one register", "two registers"},
                   2,
                   1.0,
                   "width at which the compiler is asked to vectorise the innermost loop"});
    const statement& s = ir.statements[static_cast<std::size_t>(group.statements[0])];
    const expression& root = s.nodes[static_cast<std::size_t>(s.root)];
    if (root.kind == expression_kind::reduce && root.type == value_class::real && root.reducer == reduction::sum)
      all.push_back({group.name + reassociate_name, {0, 1}, {"no", "yes"}, 1, 1.0, "let the compiler sum in another order"});
    return all;
  }

  void normalise(const tensor_ir&, const fusion_group&, const machine_model&, assignment&) const override {}

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model&, const assignment& chosen) const override {
    emitted_group emitted;
    emitted.functions = plain_emitter(ir, group, chosen).function(group.statements);
    emitted.call = fmt::format("{}_plain({});\n", group.name, pass_c_parameters(ir, group.statements));
    const int target = ir.statements[static_cast<std::size_t>(group.statements[0])].target;
    if (ir.tensors[static_cast<std::size_t>(target)].role == tensor_role::intermediate) emitted.stored.push_back(target);
    return emitted;
  }

 private:
  vector_model model_;
};

}  // namespace

std::unique_ptr<group_grammar> make_plain_grammar(const vector_model& model) {
  return std::make_unique<plain_grammar>(model);
}

}  // namespace kernsmith::agents::vector_c
