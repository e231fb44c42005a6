// One statement, one thread per output element: whatever the definition language can say, computed the obvious way. The floor under the
// other grammars.
#include <fmt/format.h>

#include "agents/synthesis/scalar_expression.hpp"
#include "agents/synthesis/simt/simt_emission.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents::simt {
namespace {

scalar_spelling device_spelling(const statement& s) {
  scalar_spelling spelling;
  spelling.storage = simt_storage_type;
  // Positions are computed in the kernel's index type; as values, indices and extents are 64-bit integers.
  spelling.at_hand = [&s](int node) -> std::optional<std::string> {
    const expression& e = s.nodes[static_cast<std::size_t>(node)];
    if (e.kind == expression_kind::index) return fmt::format("int64_t({})", s.variables[static_cast<std::size_t>(e.symbol)].name);
    return std::nullopt;
  };
  return spelling;
}

/// Emits the kernel of one statement and its launch.
class plain_emitter {
 public:
  plain_emitter(const tensor_ir& ir, const fusion_group& group, std::int64_t threads)
      : ir_(ir),
        group_(group),
        s_(ir.statements[static_cast<std::size_t>(group.statements[0])]),
        scalar_(ir, s_, device_spelling(s_)),
        parameters_(parameters_of(ir, group.statements)),
        threads_(threads) {
    const expression& root = root_node();
    for (const int id : s_.target_indices)
      if (root.kind != expression_kind::scan || id != root.bound[0]) outer_.push_back(id);
  }

  std::string functions() {
    kernel();
    launcher();
    return out_.text();
  }

  std::string call() const { return call_of(group_.name + "_launch", argument_text(ir_, parameters_)); }

 private:
  const expression& root_node() const { return s_.nodes[static_cast<std::size_t>(s_.root)]; }

  std::vector<dim> outer_shape() const {
    std::vector<dim> shape;
    for (const int id : outer_) shape.push_back(s_.variables[static_cast<std::size_t>(id)].extent);
    return shape;
  }

  void kernel() {
    out_.line("// " + s_.text);
    out_.line("template <class ks_ix>");
    out_.open(fmt::format("__global__ void __launch_bounds__({}) {}_plain_kernel({})", threads_, group_.name,
                          parameter_text(ir_, parameters_, group_.statements, "ks_ix")));
    out_.line(fmt::format("const ks_ix ks_count = {};", product_text(ir_, outer_shape())));
    out_.line(fmt::format("const ks_ix ks_stride = ks_ix(gridDim.x) * {};", threads_));
    out_.open(fmt::format("for (ks_ix ks_at = ks_ix(blockIdx.x) * {} + threadIdx.x; ks_at < ks_count; ks_at += ks_stride)", threads_));
    unpack();
    const expression& root = root_node();
    if (root.kind == expression_kind::scan)
      scan(root);
    else if (root.kind == expression_kind::reduce)
      reduce(root);
    else
      store(scalar_.value(s_.root, root.type), scalar_.type_text(root.type));
    out_.close();
    out_.close();
    out_.line("");
  }

  /// Indices of the thread's element, the last one fastest.
  void unpack() {
    if (outer_.empty()) return;
    if (outer_.size() > 1) out_.line("ks_ix ks_rest = ks_at;");
    for (std::size_t i = outer_.size(); i-- > 0;) {
      const std::string extent = scalar_.extent_of_variable(outer_[i]);
      const std::string name = scalar_.index_name(outer_[i]), rest = outer_.size() > 1 ? "ks_rest" : "ks_at";
      out_.line(i == 0 ? fmt::format("const ks_ix {} = {};", name, rest) : fmt::format("const ks_ix {} = {} % {};", name, rest, extent));
      if (i > 0) out_.line(fmt::format("ks_rest /= {};", extent));
    }
  }

  void launcher() {
    out_.open(fmt::format("static int {}_launch({}{}cudaStream_t ks_stream)", group_.name,
                          parameter_text(ir_, parameters_, group_.statements, "int64_t"),
                          parameters_.tensors.empty() && parameters_.axes.empty() ? "" : ", "));
    out_.line(fmt::format("const dim3 ks_grid(unsigned(ks_blocks({}, {}, {} * int64_t(ks_multiprocessors()))));",
                          product_text(ir_, outer_shape()), threads_, persistent_blocks));
    const std::string arguments = argument_text(ir_, parameters_);
    const auto start = [&](const char* index) {
      return fmt::format("return ks_start({}_plain_kernel<{}>, ks_grid, dim3({}), 0, ks_stream, {});", group_.name, index, threads_,
                         arguments);
    };
    out_.line(fmt::format("if ({}) {}", fits_narrow(ir_, group_.statements), start("int32_t")));
    out_.line(start("int64_t"));
    out_.close();
  }

  void store(const std::string& value, std::string_view type) {
    out_.line(fmt::format("{} = {};", scalar_.target_element(), scalar_.to_storage(value, type)));
  }

  void open_loop(int id) {
    const std::string name = scalar_.index_name(id);
    out_.open(fmt::format("for (ks_ix {0} = 0; {0} < ks_ix({1}); ++{0})", name, scalar_.extent_of_variable(id)));
  }

  /// Sums and products of reals are accumulated in double: a long one would lose digits in float.
  std::string accumulator_type(const expression& e) const {
    const bool accumulates = e.reducer == reduction::sum || e.reducer == reduction::prod;
    return e.type == value_class::real && accumulates ? "double" : scalar_.type_text(accumulated_class(e.reducer, e.type));
  }

  void step(const expression& e, const std::string& type) {
    const value_class of = accumulated_class(e.reducer, e.type);
    out_.line(accumulate(e.reducer, of, type, "ks_sum", scalar_.value(e.arguments[0], of)));
  }

  void reduce(const expression& e) {
    if (e.reducer == reduction::argmax || e.reducer == reduction::argmin) return search(e);
    const std::string type = accumulator_type(e);
    out_.line(fmt::format("{} ks_sum = {};", type, identity_of(e.reducer, e.type)));
    for (const int id : e.bound) open_loop(id);
    step(e, type);
    for (std::size_t i = 0; i < e.bound.size(); ++i) out_.close();
    store("ks_sum", type);
  }

  /// argmax and argmin: the first position, row-major over the bound indices, whose value no other exceeds.
  void search(const expression& e) {
    const value_class body = s_.nodes[static_cast<std::size_t>(e.arguments[0])].type;
    const value_class type = body == value_class::boolean ? value_class::integer : body;
    out_.line(fmt::format("{} ks_best = 0;", scalar_.type_text(type)));
    out_.line("int64_t ks_best_at = -1, ks_position_now = 0;");
    for (const int id : e.bound) open_loop(id);
    out_.line(fmt::format("const {} ks_candidate = {};", scalar_.type_text(type), scalar_.value(e.arguments[0], type)));
    out_.open(fmt::format("if (ks_best_at < 0 || ks_candidate {} ks_best)", e.reducer == reduction::argmax ? ">" : "<"));
    out_.line("ks_best = ks_candidate;");
    out_.line("ks_best_at = ks_position_now;");
    out_.close();
    out_.line("++ks_position_now;");
    for (std::size_t i = 0; i < e.bound.size(); ++i) out_.close();
    store("ks_best_at", "int64_t");
  }

  void scan(const expression& e) {
    const std::string type = accumulator_type(e);
    out_.line(fmt::format("{} ks_sum = {};", type, identity_of(e.reducer, e.type)));
    open_loop(e.bound[0]);
    step(e, type);
    store("ks_sum", type);
    out_.close();
  }

  const tensor_ir& ir_;
  const fusion_group& group_;
  const statement& s_;
  scalar_expression scalar_;
  function_parameters parameters_;
  std::int64_t threads_;
  std::vector<int> outer_;  ///< variables that number the threads' elements
  source_writer out_;
};

class plain_grammar final : public simt_grammar {
 public:
  using simt_grammar::simt_grammar;
  std::string_view name() const override { return "plain"; }

  bool accepts(const tensor_ir&, const fusion_group& group) const override { return group.statements.size() == 1; }

  std::vector<decision> decide(const tensor_ir&, const fusion_group& group) const override {
    return {{group.name + ".threads", {64, 128, 256, 512}, {}, 1, 1.0, "threads per block; each computes whole elements"}};
  }

  void tidy(const tensor_ir&, const fusion_group&, assignment&) const override {}

  emitted_group write(const tensor_ir& ir, const fusion_group& group, const assignment& chosen) const override {
    plain_emitter emitter(ir, group, chosen.at(group.name + ".threads"));
    emitted_group emitted;
    emitted.functions = emitter.functions();
    emitted.call = emitter.call();
    const int target = ir.statements[static_cast<std::size_t>(group.statements[0])].target;
    if (ir.tensors[static_cast<std::size_t>(target)].role == tensor_role::intermediate) emitted.stored.push_back(target);
    return emitted;
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_plain_grammar(const simt_model& model) {
  return std::make_unique<plain_grammar>(model);
}

}  // namespace kernsmith::agents::simt
