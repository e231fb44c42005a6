// One statement, one work-item per element: whatever the definition language can say. The floor under the other grammars.
#include <fmt/format.h>

#include "agents/synthesis/opencl/opencl_emission.hpp"
#include "agents/synthesis/opencl/opencl_grammar.hpp"
#include "agents/synthesis/vector_c/c_element.hpp"

namespace kernsmith::agents::opencl {
namespace {

constexpr const char* group_name = ".group";

class plain_emitter {
 public:
  plain_emitter(const tensor_ir& ir, const fusion_group& group, std::int64_t items)
      : host_(ir), ir_(with_device_names(ir)), group_(group), items_(items), parameters_(parameters_of(ir, group.statements)) {}

  std::string kernel() {
    const vector_c::c_scalar scalar(ir_, s_, {}, {vector_c::c_dialect::opencl, false});
    source_writer out;
    out.line("// " + s_.text);
    out.open(kernel_head(group_.name + "_plain", items_, ir_, parameters_, group_.statements));
    const std::vector<int> outer = vector_c::element_variables(s_);
    out.line("const ks_ix ks_element = get_global_id(0);");
    out.line(fmt::format("if (ks_element >= {}) return;", count(ir_, s_)));
    unpack(out, outer);
    const auto open_loop = [&](int variable, bool) {
      const std::string extent = vector_c::c_extent(ir_, s_.variables[static_cast<std::size_t>(variable)].extent);
      out.open_loop(scalar.index_name(variable), extent);
    };
    vector_c::write_element(out, s_, scalar, {open_loop, true});
    out.close();
    return out.text();
  }

  std::string command() const {
    std::string arguments;
    for (const int t : parameters_.tensors) arguments += ", " + host_.tensors[static_cast<std::size_t>(t)].name;
    for (const int a : parameters_.axes) arguments += ", " + host_.axes[static_cast<std::size_t>(a)].name;
    const statement& s = host_.statements[static_cast<std::size_t>(group_.statements[0])];
    return fmt::format("ks_commands.run(\"{}_plain\", {{({} + {}) / {}}}{});\n", group_.name, count(host_, s), items_ - 1, items_,
                       arguments);
  }

 private:
  static std::string count(const tensor_ir& ir, const statement& s) {
    std::string text;
    for (const int v : vector_c::element_variables(s))
      text += (text.empty() ? "" : " * ") + vector_c::c_extent(ir, s.variables[static_cast<std::size_t>(v)].extent);
    return text.empty() ? "1" : text;
  }

  /// Indices of the item's element, the last one fastest.
  void unpack(source_writer& out, const std::vector<int>& outer) const {
    if (outer.size() > 1) out.line("ks_ix ks_rest = ks_element;");
    for (std::size_t i = outer.size(); i-- > 0;) {
      const index_variable& v = s_.variables[static_cast<std::size_t>(outer[i])];
      const char* rest = outer.size() > 1 ? "ks_rest" : "ks_element";
      const std::string extent = vector_c::c_extent(ir_, v.extent);
      out.line(fmt::format("const ks_ix {} = {}{};", v.name, rest, i == 0 ? "" : " % " + extent));
      if (i > 0) out.line(fmt::format("ks_rest /= {};", extent));
    }
  }

  const tensor_ir& host_;
  const tensor_ir ir_;
  const fusion_group& group_;
  const statement& s_ = ir_.statements[static_cast<std::size_t>(group_.statements[0])];
  std::int64_t items_;
  function_parameters parameters_;
};

class plain_grammar final : public group_grammar {
 public:
  std::string_view name() const override { return "plain"; }
  bool accepts(const tensor_ir&, const fusion_group& group) const override { return group.statements.size() == 1; }

  std::vector<decision> decisions(const tensor_ir&, const fusion_group& group, const machine_model&) const override {
    return {{group.name + group_name, {8, 16, 32, 64, 128, 256}, {}, 3, 1.0, "work-items in a work-group; each computes whole elements"}};
  }

  void normalise(const tensor_ir&, const fusion_group&, const machine_model&, assignment&) const override {}

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model&, const assignment& chosen) const override {
    plain_emitter emitter(ir, group, chosen.at(group.name + group_name));
    emitted_group emitted;
    emitted.functions = emitter.kernel();
    emitted.call = emitter.command();
    const int target = ir.statements[static_cast<std::size_t>(group.statements[0])].target;
    if (ir.tensors[static_cast<std::size_t>(target)].role == tensor_role::intermediate) emitted.stored.push_back(target);
    return emitted;
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_plain_grammar() {
  return std::make_unique<plain_grammar>();
}

}  // namespace kernsmith::agents::opencl
