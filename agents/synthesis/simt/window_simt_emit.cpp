// Source text of a window that each thread computes for some neighbouring outputs.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/contraction_grammar_emit.hpp"
#include "agents/synthesis/simt/gemm_emit.hpp"
#include "agents/synthesis/simt/simt_emission.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"
#include "agents/synthesis/simt/window_simt.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents::simt {
namespace {

using nest::node;
using nest::polynomial;

constexpr int first_patch = 1 << 20;  // value ids beyond those of the steps

class window_emitter {
 public:
  window_emitter(const simt_window& w, const window_choice& choice, const fusion_group& group, std::string decisions)
      : w_(w), choice_(choice), group_(group), decisions_(std::move(decisions)), p_(w.plan.p), ir_(*p_.ir), steps_(w.plan.steps) {
    names_ = loop_names(p_);
    emit_.p = &p_;
    emit_.wide = w.plan.wide;
    emit_.variable_names = names_;
    loads_.p = &w_.plan.p;
    loads_.wide = w.plan.wide;
    loads_.variable_names = names_;
    for (std::size_t i = 0; i < w_.patches.size(); ++i) {
      node& load = p_.nodes[static_cast<std::size_t>(w_.patches[i].node)];
      load.kind = nest::node_kind::value;
      load.symbol = first_patch + static_cast<int>(i);
      emit_.values[load.symbol] = fmt::format("{}{}", patch_name(i), element_of(w_.patches[i]));
    }
  }

  emitted_group run() {
    const std::string space = group_.name + "_window";
    const nest::operand_members members = nest::members_of(ir_, group_, w_.plan.steps);
    out_.open("namespace " + space);
    out_.line("// " + decisions_);
    for (const int id : group_.statements) out_.line("//   " + ir_.statements[static_cast<std::size_t>(id)].text);
    out_.line(fmt::format("constexpr int DOWN = {}, ACROSS = {};  // neighbouring outputs of a thread", choice_.down, choice_.across));
    out_.line(fmt::format("constexpr int THREADS = {};", choice_.threads));
    out_.line(fmt::format("using real = {};", real()));
    out_.line("struct operands {");
    out_.lines(simt_spelling(members.declarations) + "\n");
    out_.line("};");
    out_.line("__device__ __forceinline__ bool inside(int64_t at, int64_t extent) { return at >= 0 && at < extent; }");
    out_.line("");
    kernel();
    launcher();
    out_.close("  // namespace " + space);
    emitted_group emitted;
    emitted.functions = out_.text();
    emitted.call = fmt::format("if (const int ks_failed = {0}::start({0}::operands{{{1}}}, ks_stream)) return ks_failed;\n", space,
                               members.initialisers);
    emitted.preludes = {"vectors"};
    emitted.stored = w_.plan.stored;
    return emitted;
  }

 private:
  const char* real() const { return w_.plan.wide ? "double" : "float"; }
  const std::string& name(int variable) const { return names_[static_cast<std::size_t>(variable)]; }
  std::string plain_name(int variable) const { return p_.variables[static_cast<std::size_t>(variable)].name; }
  std::string extent(int variable) const { return p_.variables[static_cast<std::size_t>(variable)].extent.text(ir_); }
  std::string first(int variable) const { return name(variable) + "first"; }
  std::string patch_name(std::size_t i) const {
    const node& load = w_.plan.p.nodes[static_cast<std::size_t>(w_.patches[i].node)];
    return fmt::format("{}_{}_", ir_.tensors[static_cast<std::size_t>(load.where.tensor)].name, i);
  }

  /// "[down * 2 + r_][across + s_]": what the taps see of a patch.
  std::string element_of(const window_patch& patch) const {
    const auto index = [&](const patch_side& side, const char* output) -> std::string {
      if (side.variable < 0) return "[0]";
      std::string text = side.factor == 1 ? output : fmt::format("{} * {}", output, side.factor);
      for (const auto& [tap, factor] : side.taps) text += factor == 1 ? " + " + name(tap) : fmt::format(" + {} * {}", name(tap), factor);
      return "[" + text + "]";
    };
    return index(patch.down, "down") + index(patch.across, "across");
  }

  void kernel() {
    out_.line("template <class ks_ix>");
    out_.open("__global__ void __launch_bounds__(THREADS) window_kernel(const operands t, ks_ix items)");
    out_.line("const ks_ix item = ks_ix(blockIdx.x) * THREADS + ks_ix(threadIdx.x);");
    out_.line("if (item >= items) return;");
    unpack();
    out_.line("real sums[DOWN][ACROSS];");
    open_outputs();
    out_.line(fmt::format("sums[down][across] = {};", identity_of(w_.plan.reducer, value_class::real)));
    close_outputs();
    for (const int variable : w_.looped) open_loop(variable);
    for (std::size_t i = 0; i < w_.patches.size(); ++i) read_patch(i);
    for (const int variable : w_.tapped) {
      out_.line("#pragma unroll");
      open_loop(variable);
    }
    take_in();
    for (std::size_t i = 0; i < w_.tapped.size() + w_.looped.size(); ++i) out_.close();
    finish();
    out_.close();
    out_.line("");
  }

  void open_loop(int variable) { out_.open(fmt::format("for (int {0} = 0; {0} < int({1}); ++{0})", name(variable), extent(variable))); }

  void open_outputs() {
    out_.line("#pragma unroll");
    out_.open("for (int down = 0; down < DOWN; ++down)");
    out_.line("#pragma unroll");
    out_.open("for (int across = 0; across < ACROSS; ++across)");
  }
  void close_outputs() {
    out_.close();
    out_.close();
  }

  /// The thread's first output, the lane fastest.
  void unpack() {
    std::vector<int> all = w_.plan.outer;
    all.push_back(w_.plan.lane);
    std::string rest = "item";
    if (all.size() > 1) out_.line("ks_ix rest = item;");
    for (std::size_t i = all.size(); i-- > 0;) {
      const int variable = all[i];
      const std::string count = groups(variable);
      const std::string index = all.size() == 1 ? "item" : i == 0 ? "rest" : fmt::format("rest % ks_ix({})", count);
      const bool several = variable == w_.plan.lane || variable == w_.down;
      const char* const scale = variable == w_.plan.lane ? "ACROSS" : "DOWN";
      out_.line(fmt::format("[[maybe_unused]] const int64_t {} = int64_t({}){};", several ? first(variable) : name(variable), index,
                            several ? fmt::format(" * {}", scale) : ""));
      if (i > 0) out_.line(fmt::format("rest /= ks_ix({});", count));
    }
  }

  std::string groups(int variable) const {
    if (variable == w_.plan.lane) return fmt::format("({} + ACROSS - 1) / ACROSS", extent(variable));
    if (variable == w_.down) return fmt::format("({} + DOWN - 1) / DOWN", extent(variable));
    return extent(variable);
  }

  /// What the guards of a load say, but for those along a side of the patch.
  std::string fixed_guards(const node& load, const window_patch& patch) {
    std::string text;
    for (const nest::guard& g : load.guards) {
      const bool along = g.strides.contains(patch.down.variable) || g.strides.contains(patch.across.variable);
      if (!along) text += fmt::format("{}inside({}, {})", text.empty() ? "" : " && ", loads_.position(g), g.extent.text(ir_));
    }
    return text;
  }

  /// Is element `index` of the side there? Empty: always.
  std::string on_side(const patch_side& side, const std::string& index) {
    if (side.variable < 0) return "";
    if (side.position.extent.is_zero()) return fmt::format("{} + {} < {}", first(side.variable), index, extent(side.variable));
    return fmt::format("inside({} + {}, {})", loads_.position(side.position), index, side.position.extent.text(ir_));
  }

  void read_patch(std::size_t i) {
    const window_patch& patch = w_.patches[i];
    const node& load = w_.plan.p.nodes[static_cast<std::size_t>(patch.node)];
    const std::int64_t rows = patch.down.variable < 0 ? 1 : patch.down.length(choice_.down);
    const std::int64_t columns = patch.across.variable < 0 ? 1 : patch.across.length(choice_.across);
    const std::string id = patch_name(i);
    // Addresses and positions of the first element: taps at 0, the first output.
    const std::vector<std::string> usual = loads_.variable_names;
    for (const patch_side* side : {&patch.down, &patch.across}) {
      if (side->variable >= 0) loads_.variable_names[static_cast<std::size_t>(side->variable)] = first(side->variable);
      for (const auto& [tap, factor] : side->taps) loads_.variable_names[static_cast<std::size_t>(tap)] = "0";
    }
    const std::string tensor = "t." + ir_.tensors[static_cast<std::size_t>(load.where.tensor)].name;
    const std::string outside = fixed_guards(load, patch);
    const std::string pad = loads_.number(load.guards.empty() ? 0 : load.number);
    const char* const widen = w_.plan.wide ? "to_double" : "to_float";
    out_.line(fmt::format("real {}[{}][{}];", id, rows, columns));
    out_.open_scope();
    out_.line(fmt::format("const auto* const from = {} + {};", tensor, loads_.address(load.where)));
    if (!outside.empty()) out_.line(fmt::format("const bool there = {};", outside));
    out_.line("#pragma unroll");
    out_.open(fmt::format("for (int i = 0; i < {}; ++i)", rows));
    std::string row = on_side(patch.down, "i");
    if (!outside.empty()) row = "there" + (row.empty() ? "" : " && " + row);
    if (!row.empty()) out_.line(fmt::format("const bool row = {};", row));
    const std::string down = patch.down.variable < 0 ? "" : fmt::format(" + i * {}", patch.down.step.text(ir_));
    if (vectorised(patch)) {
      const std::string fetch = fmt::format("ks_fetch<{}, ks_any, false>(from{}, {}, {})", columns, down, first(patch.across.variable),
                                            "int64_t(" + extent(patch.across.variable) + ")");
      if (!row.empty()) out_.open("if (row)");
      out_.line(fmt::format("const auto pack = {};", fetch));
      out_.line("#pragma unroll");
      out_.line(fmt::format("for (int j = 0; j < {}; ++j) {}[i][j] = {}(pack.at[j]);", columns, id, widen));
      if (!row.empty()) {
        out_.close(" else {");
        out_.line("#pragma unroll");
        out_.line(fmt::format("  for (int j = 0; j < {}; ++j) {}[i][j] = {};", columns, id, pad));
        out_.line("}");
      }
    } else {
      std::string condition = on_side(patch.across, "j");
      if (!row.empty()) condition = "row" + (condition.empty() ? "" : " && " + condition);
      const std::string across = patch.across.variable < 0 ? "" : fmt::format(" + j * {}", patch.across.step.text(ir_));
      const std::string value = fmt::format("{}(*(from{}{}))", widen, down, across);
      out_.line("#pragma unroll");
      out_.line(fmt::format("for (int j = 0; j < {}; ++j) {}[i][j] = {};", columns, id,
                            condition.empty() ? value : fmt::format("{} ? {} : {}", condition, value, pad)));
    }
    out_.close();
    out_.close();
    loads_.variable_names = usual;
  }

  /// Does a side hold neighbouring elements that the lanes alone walk?
  bool vectorised(const window_patch& patch) const {
    return choice_.across > 1 && patch.across.variable >= 0 && patch.across.taps.empty() && patch.across.position.extent.is_zero() &&
           patch.across.step == polynomial::constant(1);
  }

  /// The output's own indices.
  void own_indices() {
    if (w_.down >= 0) out_.line(fmt::format("[[maybe_unused]] const int64_t {} = {} + down;", name(w_.down), first(w_.down)));
    out_.line(fmt::format("[[maybe_unused]] const int64_t {} = {} + across;", name(w_.plan.lane), first(w_.plan.lane)));
  }

  std::string beyond() const {
    std::string text;
    if (w_.down >= 0 && choice_.down > 1) text = fmt::format("{} >= {}", name(w_.down), extent(w_.down));
    if (choice_.across > 1) text += fmt::format("{}{} >= {}", text.empty() ? "" : " || ", name(w_.plan.lane), extent(w_.plan.lane));
    return text;
  }

  void take_in() {
    open_outputs();
    own_indices();
    if (reads_directly() && !beyond().empty()) out_.line(fmt::format("if ({}) continue;  // nothing to read there", beyond()));
    out_.line(accumulate(w_.plan.reducer, value_class::real, real(), "sums[down][across]", simt_spelling(emit_.real(w_.plan.body))));
    close_outputs();
  }

  /// Does the body read what is no patch along the outputs of a thread?
  bool reads_directly() const {
    bool found = false;
    const auto visit = [&](const auto& self, int id) -> void {
      const node& n = p_.nodes[static_cast<std::size_t>(id)];
      if (n.kind == nest::node_kind::load)
        found = found || !n.where.stride(w_.plan.lane).is_zero() || (w_.down >= 0 && !n.where.stride(w_.down).is_zero());
      for (const int argument : n.arguments) self(self, argument);
    };
    visit(visit, w_.plan.body);
    return found;
  }

  bool stored_in_rows(const nest::step& s) const {
    const dtype type = ir_.tensors[static_cast<std::size_t>(s.tensor)].type;
    return choice_.across > 1 && s.stored && s.type == value_class::real && is_float(type) &&
           s.target.stride(w_.plan.lane) == polynomial::constant(1);
  }

  void finish() {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!stored_in_rows(steps_[i])) continue;
      rows.push_back(i);
      steps_[i].stored = false;
    }
    const auto tensor = [&](std::size_t i) -> const tensor_declaration& { return ir_.tensors[static_cast<std::size_t>(steps_[i].tensor)]; };
    out_.line("#pragma unroll");
    out_.open("for (int down = 0; down < DOWN; ++down)");
    for (const std::size_t i : rows)
      out_.line(fmt::format("ks_pack<{}, ACROSS> {}_row_;", simt_storage_type(tensor(i).type), tensor(i).name));
    out_.line("#pragma unroll");
    out_.open("for (int across = 0; across < ACROSS; ++across)");
    own_indices();
    if (!beyond().empty()) out_.line(fmt::format("if ({}) continue;", beyond()));
    out_.lines(simt_spelling(nest::step_lines(emit_, steps_, "sums[down][across]", "")) + "\n");
    for (const std::size_t i : rows)
      out_.line(fmt::format("{0}_row_.at[across] = {2}<{1}>({0}_value);", tensor(i).name, simt_storage_type(tensor(i).type),
                            w_.plan.wide ? "from_double" : "from_float"));
    out_.close();
    if (!rows.empty()) {
      if (w_.down >= 0) {
        out_.line(fmt::format("[[maybe_unused]] const int64_t {} = {} + down;", name(w_.down), first(w_.down)));
        if (choice_.down > 1) out_.line(fmt::format("if ({} >= {}) continue;", name(w_.down), extent(w_.down)));
      }
      emit_.variable_names[static_cast<std::size_t>(w_.plan.lane)] = first(w_.plan.lane);
      for (const std::size_t i : rows)
        out_.line(fmt::format("ks_put<ACROSS, ks_any, false>(t.{0} + {1}, {0}_row_, {2}, int64_t({3}));", tensor(i).name,
                              emit_.address(steps_[i].target), first(w_.plan.lane), extent(w_.plan.lane)));
      emit_.variable_names = names_;
    }
    out_.close();
  }

  void launcher() {
    out_.open("static int start(const operands& t, cudaStream_t stream)");
    std::string items;
    for (const int variable : w_.plan.outer) items += fmt::format("({}) * ", groups(variable));
    items += fmt::format("({})", groups(w_.plan.lane));
    out_.line(fmt::format("const int64_t items = {}, blocks = (items + THREADS - 1) / THREADS;", items));
    out_.line("if (blocks > 0x7fffffff) return int(cudaErrorInvalidConfiguration);");
    out_.line("const dim3 grid(static_cast<unsigned>(blocks));");
    out_.line(
        fmt::format("if (items <= {}) return ks_start(window_kernel<int32_t>, grid, dim3(THREADS), 0, stream, t, items);", largest_narrow));
    out_.line("return ks_start(window_kernel<int64_t>, grid, dim3(THREADS), 0, stream, t, items);");
    out_.close();
  }

  const simt_window& w_;
  window_choice choice_;
  const fusion_group& group_;
  std::string decisions_;
  nest::program p_;
  const tensor_ir& ir_;
  std::vector<nest::step> steps_;
  std::vector<std::string> names_;
  nest::emission emit_, loads_;
  source_writer out_;
};

}  // namespace

emitted_group emit_simt_window(const simt_window& window, const window_choice& choice, const fusion_group& group,
                               const std::string& decisions) {
  return window_emitter(window, choice, group, decisions).run();
}

}  // namespace kernsmith::agents::simt
