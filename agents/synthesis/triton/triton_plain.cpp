// One statement, one lane per element: whatever the definition language can say. The floor under the other grammars.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agents/synthesis/scalar_expression.hpp"
#include "agents/synthesis/triton/triton_emission.hpp"
#include "agents/synthesis/triton/triton_expression.hpp"
#include "agents/synthesis/triton/triton_grammar.hpp"
#include "agents/synthesis/triton/triton_sinks.hpp"

namespace kernsmith::agents::triton {
namespace {

constexpr const char *block_name = ".block", *warps_name = ".warps";

class plain_writer {
 public:
  plain_writer(const tensor_ir& ir, const fusion_group& group)
      : ir_(with_python_names(ir)),
        s_(ir_.statements[static_cast<std::size_t>(group.statements[0])]),
        name_(group.name + "_plain"),
        parameters_(parameters_of(ir_, group.statements)) {
    const expression& root = node(s_.root);
    reduces_ = root.kind == expression_kind::reduce || root.kind == expression_kind::scan;
    for (const int v : s_.target_indices)
      if (root.kind != expression_kind::scan || v != root.bound[0]) elements_.push_back(v);
    wide_ = needs_double(ir_, s_);
  }

  std::string functions(const std::string& group, std::int64_t block, std::int64_t warps) {
    const std::vector<kernel_constant> constants = {{"BLOCK", std::to_string(block)}};
    out_.line("# " + s_.text);
    open_kernel(out_, name_, ir_, parameters_, constants);
    place_elements();
    body();
    out_.close();
    out_.line("");
    out_.line("");
    host(group, constants, fmt::format("num_warps={}", warps));
    return out_.text();
  }

  /// `y_group(x, y, N)` in launch().
  std::string call(const std::string& group) const { return fmt::format("{}_group({})\n", group, fmt::join(arguments(), ", ")); }

 private:
  const expression& node(int id) const { return s_.nodes[static_cast<std::size_t>(id)]; }
  const index_variable& variable(int v) const { return s_.variables[static_cast<std::size_t>(v)]; }
  std::string extent(int v) const { return extent_name(ir_, variable(v).extent); }

  std::string count(const std::vector<int>& variables) const {
    std::string text;
    for (const int v : variables) text += (text.empty() ? "" : " * ") + extent(v);
    return text.empty() ? "1" : text;
  }

  std::vector<std::string> arguments() const {
    std::vector<std::string> all;
    for (const int t : parameters_.tensors) all.push_back(ir_.tensors[static_cast<std::size_t>(t)].name);
    for (const int a : parameters_.axes) all.push_back(ir_.axes[static_cast<std::size_t>(a)].name);
    return all;
  }

  /// Indices of the lanes' elements, the last one fastest.
  void place_elements() {
    if (elements_.empty()) {
      tile_.extent = "()";
      return;
    }
    tile_.extent = "(BLOCK,)";
    tile_.live[0] = "inside";
    out_.line("element = tl.program_id(0).to(index) * BLOCK + tl.arange(0, BLOCK)");
    out_.line(fmt::format("inside = element < {}", count(elements_)));
    std::string before;
    for (std::size_t k = elements_.size(); k-- > 0;) {
      const int v = elements_[k];
      std::string text = before.empty()                          ? "element"
                         : before.find('*') == std::string::npos ? "element // " + before
                                                                 : "element // (" + before + ")";
      if (k > 0) text += " % " + extent(v);
      out_.line(fmt::format("{} = {}", variable(v).name, text));
      tile_.indices[v] = {variable(v).name, along_rows};
      before = extent(v) + (before.empty() ? "" : " * " + before);
    }
  }

  void body() {
    const tile_expression code(ir_, s_, wide_, tile_);
    if (!reduces_) {
      const value_class type = node(s_.root).type;
      out_.line(code.store(code.tensor_value(s_.root, type), type));
      return;
    }
    const expression& root = node(s_.root);
    if (accumulation::is_position(root.reducer))
      find_position(code, root);
    else
      accumulate(code, root);
  }

  void open_loops(const expression& root) {
    for (const int v : root.bound) {
      out_.open(fmt::format("for {} in tl.range(0, {})", variable(v).name, extent(v)));
      out_.line(fmt::format("{0} = tl.cast({0}, index)", variable(v).name));
      tile_.indices[v] = {variable(v).name, along_nothing};
    }
  }

  void accumulate(const tile_expression& code, const expression& root) {
    const accumulation sum(root.reducer, node(root.arguments[0]).type, code.real_type());
    out_.line(fmt::format("ks_sum = tl.full({}, {}, {})", tile_.extent, sum.identity(), sum.type()));
    open_loops(root);
    out_.line(fmt::format("ks_sum = {}", sum.merged("ks_sum", sum.in_type(code.tensor_value(root.arguments[0], sum.taken())))));
    const bool scan = root.kind == expression_kind::scan;
    if (scan) out_.line(code.store(sum.finished("ks_sum"), sum.result()));
    for (std::size_t k = 0; k < root.bound.size(); ++k) out_.close();
    if (!scan) out_.line(code.store(sum.finished("ks_sum"), sum.result()));
  }

  /// The first position, row-major over the bound indices, whose value no other exceeds.
  void find_position(const tile_expression& code, const expression& root) {
    const accumulation best(root.reducer, node(root.arguments[0]).type, code.real_type());
    out_.line(fmt::format("ks_best = tl.full({}, {}, {})", tile_.extent, best.identity(), best.type()));
    out_.line(fmt::format("ks_at = tl.full({}, 0, tl.int64)", tile_.extent));
    out_.line("ks_position = tl.full((), 0, tl.int64)");
    open_loops(root);
    out_.line(fmt::format("ks_next = {}", code.tensor_value(root.arguments[0], best.taken())));
    out_.line(fmt::format("ks_better = (ks_next {} ks_best) | (ks_position == 0)", root.reducer == reduction::argmax ? ">" : "<"));
    out_.line("ks_best = tl.where(ks_better, ks_next, ks_best)");
    out_.line("ks_at = tl.where(ks_better, ks_position, ks_at)");
    out_.line("ks_position = ks_position + 1");
    for (std::size_t k = 0; k < root.bound.size(); ++k) out_.close();
    out_.line(code.store("ks_at", value_class::integer));
  }

  void host(const std::string& group, const std::vector<kernel_constant>& constants, const std::string& options) {
    out_.open(fmt::format("def {}_group({})", group, fmt::join(arguments(), ", ")));
    std::vector<std::string> tensors;
    for (const int t : parameters_.tensors) tensors.push_back(ir_.tensors[static_cast<std::size_t>(t)].name);
    std::vector<std::string> counts;
    if (reduces_) counts.push_back(count(node(s_.root).bound));
    out_.line(choose_index(tensors, counts));
    const std::string programs = elements_.empty() ? "1" : fmt::format("triton.cdiv({}, {})", count(elements_), constants[0].second);
    out_.line(start_kernel(name_, programs, arguments(), constants, options));
    out_.close();
    out_.line("");
    out_.line("");
  }

  const tensor_ir ir_;
  const statement& s_;
  std::string name_;
  function_parameters parameters_;
  std::vector<int> elements_;
  bool reduces_ = false, wide_ = false;
  tile tile_;
  python_writer out_;
};

class plain_grammar final : public group_grammar {
 public:
  std::string_view name() const override { return "plain"; }
  bool accepts(const tensor_ir&, const fusion_group& group) const override { return group.statements.size() == 1; }

  std::vector<decision> decisions(const tensor_ir&, const fusion_group& group, const machine_model&) const override {
    return {numbers(group.name + block_name, {64, 128, 256, 512, 1024}, 256, 1.0,
                    "elements that a program computes, each in a lane of its own"),
            numbers(group.name + warps_name, {1, 2, 4, 8}, 4, 1.0, "warps of a program")};
  }

  void normalise(const tensor_ir&, const fusion_group&, const machine_model&, assignment&) const override {}

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model&, const assignment& chosen) const override {
    plain_writer writer(ir, group);
    emitted_group emitted;
    emitted.functions = writer.functions(group.name, chosen.at(group.name + block_name), chosen.at(group.name + warps_name));
    emitted.call = writer.call(group.name);
    const int target = ir.statements[static_cast<std::size_t>(group.statements[0])].target;
    if (ir.tensors[static_cast<std::size_t>(target)].role == tensor_role::intermediate) emitted.stored.push_back(target);
    return emitted;
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_plain_grammar() {
  return std::make_unique<plain_grammar>();
}

}  // namespace kernsmith::agents::triton
