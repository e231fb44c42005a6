// What the emitted namespace of a matrix product holds, whichever units multiply.
#include <fmt/format.h>

#include <set>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/simt/gemm_text.hpp"
#include "agents/synthesis/simt/gemm_view.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"

namespace kernsmith::agents::simt {

emitted_group group_writer::emitted(const std::string& helpers, const std::string& body) const {
  const std::string space = group_.name + "_gemm";
  std::string axes, names;
  for (const axis& a : ir_.axes) axes += (axes.empty() ? "" : ", ") + a.name;
  if (axes.empty()) axes = "0";
  for (const auto& [id, written] : tensors()) names += ", " + ir_.tensors[static_cast<std::size_t>(id)].name;
  emitted_group out;
  out.functions = helpers + "\nnamespace " + space + " {\n\n" + body + "\n}  // namespace " + space + "\n";
  out.call = fmt::format("if (const int ks_failed = {0}::start({{{{{1}}}{2}}}, {3}, ks_stream)) return ks_failed;\n", space, axes, names,
                         "ks_scratch_" + group_.name);
  out.scratch_bytes = fmt::format("{}::layout_of({{{}}}).bytes", space, axes);
  out.stored = plan_.nest.stored;
  return out;
}

/// Tensors that the group reads or writes in memory, in the order of their declaration.
std::vector<std::pair<int, bool>> group_writer::tensors() const {
  std::set<int> read, written;
  for (const int id : group_.statements)
    for (const expression& e : ir_.statements[static_cast<std::size_t>(id)].nodes)
      if (e.kind == expression_kind::load) read.insert(e.symbol);
  for (const int id : group_.statements) read.erase(ir_.statements[static_cast<std::size_t>(id)].target);
  for (const nest::step& st : plan_.nest.steps)
    if (st.stored) written.insert(st.tensor);
  std::vector<std::pair<int, bool>> all;
  for (int id = 0; id < static_cast<int>(ir_.tensors.size()); ++id)
    if (read.contains(id) || written.contains(id)) all.emplace_back(id, written.contains(id));
  return all;
}

std::string group_writer::members() const {
  std::string text = "struct axis_values {\n  int64_t ";
  for (std::size_t a = 0; a < ir_.axes.size(); ++a) text += (a > 0 ? ", " : "") + ir_.axes[a].name;
  text += ir_.axes.empty() ? "unused;\n};\nstruct tensors : axis_values {\n" : ";\n};\nstruct tensors : axis_values {\n";
  for (const auto& [id, written] : tensors()) {
    const tensor_declaration& tensor = ir_.tensors[static_cast<std::size_t>(id)];
    text += fmt::format("  {}{}* {};\n", written ? "" : "const ", simt_storage_type(tensor.type), tensor.name);
  }
  return text + "};\n";
}

std::string group_writer::number_types() const {
  std::string text = fmt::format("using real = {};\nusing sum_type = {};\n\n", plan_.wide() ? "double" : "float", sum_type());
  if (plan_.flat)  // loads may be padded
    text += "__device__ __forceinline__ bool inside(int64_t at, int64_t extent) { return at >= 0 && at < extent; }\n\n";
  return text;
}

std::string group_writer::unsplittable() const {
  if (plan_.flat) {
    std::string loops;
    for (const int variable : plan_.nest.depth)
      loops += fmt::format("    for (int64_t {0} = 0; {0} < {1}; ++{0})\n", name(variable), extent(variable));
    loops.pop_back();
    return nest::fill(gemm_unsplittable_flat_text, {{"BATCH_INDICES", unpack_text(plan_.nest.p, plan_.nest.batch, "batch", "    ")},
                                                    {"ROW_INDICES", unpack_narrow_text(plan_.nest.p, plan_.flat->rows, "row", "    ")},
                                                    {"COLUMN_INDICES", unpack_columns("(first + e)", "        ")},
                                                    {"DEPTH_LOOPS", loops},
                                                    {"LEFT_VALUE", value_text(plan_.left)},
                                                    {"RIGHT_VALUE", value_text(plan_.right)}});
  }
  return nest::fill(gemm_unsplittable_text, {{"BATCH_INDICES", unpack_text(plan_.nest.p, plan_.nest.batch, "batch", "    ")},
                                             {"ROW", name(plan_.nest.row)},
                                             {"COLUMN", name(plan_.nest.column)},
                                             {"DEPTH", name(depth())},
                                             {"LEFT_VALUE", value_text(plan_.left)},
                                             {"RIGHT_VALUE", value_text(plan_.right)}});
}

}  // namespace kernsmith::agents::simt
