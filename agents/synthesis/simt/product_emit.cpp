// What follows a product's reduction, the host function, and all parts put together.
#include "agents/synthesis/simt/product_emit.hpp"

#include <fmt/format.h>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/row_grammar_plan.hpp"
#include "agents/synthesis/simt/gemm_text.hpp"
#include "agents/synthesis/simt/product_text.hpp"
#include "agents/synthesis/simt/product_writer.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents::simt {
namespace {

/// Is the load read for four neighbouring columns at once?
bool is_packed(const product_plan& c, const row::row_statement& s, const expression& e) {
  if (e.kind != expression_kind::load || c.p.rows.written_by(e.symbol) >= 0 || c.p.tensor(e.symbol).pad) return false;
  for (std::size_t d = 0; d < e.indices.size(); ++d)
    if (!e.indices[d].is_affine || row::needs_bounds(c.p.rows, e, d)) return false;
  return row::access_of(c.p.rows, s, e, c.column) == row::access::contiguous;
}

bool stores_packs(const product_plan& c, const row::row_statement& s) {
  return s.stored && !s.target.empty() && s.target.back() == c.column;
}

/// A product of extents over the problem's own axes, by their own names.
std::string extent_of_class(const tensor_ir& ir, const row::index_class& c) {
  std::string text = fmt::format("size_t({})", c.size.constant);
  for (const int a : c.size.axes) text += " * " + ir.axes[static_cast<std::size_t>(a)].name;
  return text;
}

}  // namespace

std::string product_writer::finish() {
  const std::string m = name(c_.row), n = name(c_.column);
  source_writer out;
  out.line("");
  out.line("// What follows the reduction, for up to four neighbouring columns of a row.");
  out.line("template <class ks_ix>");
  std::string indices;
  for (const int b : c_.batch) indices += fmt::format(", [[maybe_unused]] const ks_ix {}", name(b));
  out.open(fmt::format(
      "__device__ __forceinline__ void {}_finish({}{}, [[maybe_unused]] const ks_ix {}, const ks_ix {}_first, const {} (&total)[4])",
      p_.rows.name, parameters(), indices, m, n, sum_.type));
  out.line(fmt::format("[[maybe_unused]] const ks_ix {0} = {0}_first;", n));
  int packs = 0;
  for (int i = 0; i < p_.count(); ++i) {
    const row::row_statement& s = p_.at(i);
    if (i != c_.reduce)
      row::walk(s, s.value, [&](int node) {
        const expression& e = s.nodes[static_cast<std::size_t>(node)];
        if (!is_packed(c_, s, e)) return;
        const std::string pack = fmt::format("{}_pack{}", p_.stem(e.symbol), packs++);
        out.line(fmt::format("const auto {} = ks_fetch<4, ks_any, false>(&{}, {}, ks_ix({}));", pack, code_.element(i, node), n,
                             extent(c_.column)));
        code_.have(i, node, pack + ".at[l]");
      });
    if (stores_packs(c_, s))
      out.line(fmt::format("ks_pack<{}, 4> {}_pack;", simt_storage_type(p_.tensor(s.tensor).type), p_.stem(s.tensor)));
  }
  out.line("#pragma unroll");
  out.open("for (int l = 0; l < 4; ++l)");
  out.line(fmt::format("[[maybe_unused]] const ks_ix {0} = {0}_first + l;", n));
  out.line(fmt::format("if ({} >= {}) continue;", n, extent(c_.column)));
  for (int i = 0; i < p_.count(); ++i) {
    const row::row_statement& s = p_.at(i);
    const std::string value_name = p_.stem(s.tensor) + "_row";
    const std::string value =
        i == c_.reduce ? finished(code_, i, sum_, "total[l]") : code_.seen(i, code_.value(i, s.value, s.type), s.type);
    out.line(fmt::format("[[maybe_unused]] const {} {} = {};", code_.seen_type(i), value_name, value));
    code_.know(i, value_name);
    if (!s.stored) continue;
    const std::string element = code_.stored(i, value_name, class_of(p_.tensor(s.tensor).type));
    out.line(fmt::format("{} = {};", stores_packs(c_, s) ? p_.stem(s.tensor) + "_pack.at[l]" : code_.target_element(i), element));
  }
  out.close();
  for (int i = 0; i < p_.count(); ++i)
    if (stores_packs(c_, p_.at(i)))
      out.line(fmt::format("ks_put<4, ks_any, false>(&{}, {}_pack, {}, ks_ix({}));", code_.target_element(i), p_.stem(p_.at(i).tensor), n,
                           extent(c_.column)));
  out.close();
  code_.forget_elements();
  return out.text();
}

std::string product_writer::finish_call() const {
  std::string indices;
  for (const int b : c_.batch) indices += ", " + name(b);
  return fmt::format("{}_finish<ks_ix>({}{}, {}, {}, four);", p_.rows.name, arguments(), indices, name(c_.row), name(c_.column));
}

std::string product_writer::partial_store() const {
  const std::string n = name(c_.column);
  return fmt::format(
      "ks_pack<{0}, 4> pack;\n"
      "#pragma unroll\n"
      "      for (int l = 0; l < 4; ++l) pack.at[l] = four[l];\n"
      "      ks_put<4, ks_any, false>(partial + (int64_t(matrix) * {1} + {2}) * {3} + {4}, pack, {4}, ks_ix({3}));",
      sum_.type, extent(c_.row), name(c_.row), extent(c_.column), n);
}

std::string product_writer::join() const {
  if (s_.splits == 1) return "";
  const row::row_statement& s = p_.at(c_.reduce);
  return nest::fill(product_join_text, {{"GROUP", p_.rows.name},
                                        {"PARAMETERS", parameters()},
                                        {"SUM_TYPE", sum_.type},
                                        {"INITIAL", sum_.initial},
                                        {"SPLITS", std::to_string(s_.splits)},
                                        {"ROW_EXTENT", extent(c_.row)},
                                        {"COLUMN_EXTENT", extent(c_.column)},
                                        {"BATCHES", p_.product(c_.batch)},
                                        {"M", name(c_.row)},
                                        {"N", name(c_.column)},
                                        {"BATCH", unpack_batch("matrix", "    ")},
                                        {"MERGE", accumulate(s.reducer, sum_.of, sum_.type, "four[l]", "part.at[l]")},
                                        {"FINISH", finish_call()}});
}

std::string product_writer::launcher() const {
  source_writer out;
  out.line("");
  const bool parts = s_.splits > 1;
  out.open(fmt::format("static int {}_launch({}{}, cudaStream_t ks_stream)", p_.rows.name,
                       parameter_text(p_.flat, host_parameters(p_), all_statements(p_), "int64_t"), parts ? ", void* ks_scratch" : ""));
  for (const std::string& line : derive_axes(p_)) out.line(line);
  const auto blocks = [&](int index, int unit) { return fmt::format("({} + {} - 1) / {}", extent(index), unit, unit); };
  out.line(fmt::format("const int64_t count = ({}) * ({}) * {} * {};", blocks(c_.column, s_.tile_n), blocks(c_.row, s_.tile_m),
                       p_.product(c_.batch), s_.splits));
  out.line("if (count > 0x7fffffff) return int(cudaErrorInvalidConfiguration);");
  out.line(fmt::format("const dim3 grid(static_cast<unsigned>(count)), block({});", s_.threads()));
  out.line(fmt::format("constexpr size_t shared_bytes = {};", s_.shared_bytes(c_)));
  if (parts) out.line(fmt::format("{0}* const partial = static_cast<{0}*>(ks_scratch);", sum_.type));
  const std::string all = arguments() + (parts ? ", partial" : "");
  const auto start = [&](const std::string& types) {
    return fmt::format("failed = ks_start({}_product_kernel<{}>, grid, block, shared_bytes, ks_stream, {});", p_.rows.name, types, all);
  };
  const bool narrow = typically_narrow(p_);
  out.line("int failed = 0;");
  if (narrow) out.line(fmt::format("const bool narrow = {};", fits_narrow(p_.flat, all_statements(p_))));
  if (has_aligned()) {
    for (const int b : c_.batch) out.line(fmt::format("[[maybe_unused]] int64_t {} = 0;", name(b)));
    for (const product_tile& t : c_.tiles)
      if (t.along_own) out.lines(address_function(t, "int64_t", ""));
    out.line(fmt::format("{}bool aligned = {};", c_.batch.empty() ? "const " : "", aligned_condition()));
    for (const int b : c_.batch) out.line(fmt::format("{0} = 1, aligned = aligned && {1}, {0} = 0;", name(b), aligned_condition()));
    out.line(fmt::format("if (aligned{}) {}", narrow ? " && narrow" : "", start(narrow ? "int32_t, true" : "int64_t, true")));
    if (narrow) out.line("else if (narrow) " + start("int32_t, false"));
    out.line("else " + start("int64_t, false"));
  } else {
    if (narrow) out.line("if (narrow) " + start("int32_t"));
    out.line((narrow ? "else " : "") + start("int64_t"));
  }
  if (parts) {
    out.line("if (failed != 0) return failed;");
    out.line(fmt::format("const dim3 join_grid(static_cast<unsigned>(ks_blocks(({} + 3) / 4 * {} * {}, 256, 16 * ks_multiprocessors())));",
                         extent(c_.column), extent(c_.row), p_.product(c_.batch)));
    const auto join = [&](const char* type) {
      return fmt::format("failed = ks_start({}_join_kernel<{}>, join_grid, dim3(256), 0, ks_stream, {});", p_.rows.name, type, all);
    };
    if (narrow) out.line(std::string("if (narrow) ") + join("int32_t"));
    out.line((narrow ? "else " : "") + join("int64_t"));
  }
  out.line("return failed;");
  out.close();
  return out.text();
}

std::string product_writer::scratch_bytes(const tensor_ir& ir) const {
  if (s_.splits == 1) return "";
  std::string text = fmt::format("{} * sizeof({})", s_.splits, sum_.type);
  for (const int c : p_.rows.parallel) text += " * " + extent_of_class(ir, p_.rows.classes[static_cast<std::size_t>(c)]);
  return text;
}

emitted_group emit_product(const tensor_ir& ir, const fusion_group& group, const product_plan& plan, const product_schedule& schedule,
                           const simt_model& model) {
  product_writer writer(plan, schedule, model);
  emitted_group emitted;
  if (schedule.copies) emitted.functions += std::string(shared_address_text) + std::string(async_copies_text);
  emitted.functions += std::string(product_tiles_text);
  emitted.functions += writer.finish();
  emitted.functions += writer.kernel();
  emitted.functions += writer.join();
  emitted.functions += writer.launcher();
  emitted.scratch_bytes = writer.scratch_bytes(ir);
  emitted.call = call_of(group.name + "_launch",
                         argument_text(ir, host_parameters(plan.p)) + (emitted.scratch_bytes.empty() ? "" : ", ks_scratch_" + group.name));
  emitted.preludes = {"vectors"};
  for (const row::row_statement& s : plan.p.rows.statements)
    if (s.stored && ir.tensors[static_cast<std::size_t>(s.tensor)].role == tensor_role::intermediate) emitted.stored.push_back(s.tensor);
  return emitted;
}

}  // namespace kernsmith::agents::simt
