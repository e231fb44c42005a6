#include "agents/synthesis/contraction_grammar_emit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/prelude.hpp"

namespace kernsmith::agents::nest {
namespace {

constexpr double serial_below_products = 32768;  // starting threads costs a few microseconds
constexpr int dot_strip_columns = 512;           // finished together
constexpr int dot_left_bytes = 512 << 10;        // packed rows stay in L2
constexpr int depth_share_unit = 64;             // a thread's share of the depth starts on a cache line

class contraction_emitter {
 public:
  contraction_emitter(const contraction_plan& plan, const contraction_schedule& schedule, const fusion_group& group, std::string decisions)
      : plan_(plan), ir_(*plan.p.ir), schedule_(schedule), group_(group), decisions_(std::move(decisions)), names_(names_of(wide())) {
    const contraction_options options = options_of(plan);
    left_in_place_ = options.left_in_place && !schedule.pack_left && !schedule.dot;
    right_in_place_ = options.right_in_place && !schedule.pack_right && !schedule.dot;
    for (const loop_variable& variable : plan.p.variables) variable_names_.push_back(variable.name + "_");
    for (const int variable : plan.batch) variable_names_[index(variable)] = "s." + plan.p.variables[index(variable)].name + "_";
    base_ = lane_fills(names_);
    add_panel_fills();
  }

  emitted_group run() {
    emitted_group out;
    const std::string space = group_.name + "_contraction";
    text_ += heading();
    text_ += "namespace " + space + " {\n\n";
    text_ += constants();
    const operand_members members = members_of(ir_, group_, plan_.steps);
    text_ += "\nstruct operands {\n" + members.declarations + "\n};\n" + slice_text();
    add(scratch_text);
    add(range_text);
    add(lane_helpers_text);
    if (pads()) add(pad_helpers_text);
    if (pairs()) {
      add(pairs_text);
      add(integers() ? dot_integers_text : dot_bf16_text);
    }
    if (schedule_.dot)
      emit_dot();
    else
      emit_blocked();
    text_ += "\n}  // namespace " + space;
    out.functions = std::move(text_);
    out.call = fmt::format("{0}::run({0}::operands{{{1}}}, ctx->threads);", space, members.initialisers);
    preludes_.insert({"types", wide() ? "simd64" : "simd"});
    out.preludes = std::move(preludes_);
    out.stored = plan_.stored;
    return out;
  }

 private:
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  bool wide() const { return plan_.sums == sum_kind::f64; }
  const std::string& name(int variable) const { return plan_.p.variables[index(variable)].name; }

  void add(std::string_view text, std::map<std::string, std::string> values = {}) {
    values.insert(base_.begin(), base_.end());
    text_ += fill(text, values);
  }

  bool integers() const { return plan_.sums == sum_kind::i32; }
  /// Panels of pairs: 8-bit integers widened to 16 bits, or bf16 as it is.
  bool pairs() const { return integers() || schedule_.pair_bf16; }

  void add_panel_fills() {
    const bool whole = pairs();
    base_["WORD"] = whole ? "int32_t" : "real";
    base_["WORDS"] = whole ? "vi" : "vec";
    base_["WLOAD"] = whole ? "viload" : names_.load;
    base_["WSTORE"] = whole ? "vistore" : names_.store;
    base_["WSPLAT"] = whole ? "vseti" : "splat";
    base_["MAC"] = whole ? "dot_pair" : "vfma";
    base_["SUMS"] = integers() ? "vi" : "vec";
    base_["SLOAD"] = integers() ? "viload" : names_.load;
    base_["SSTORE"] = integers() ? "vistore" : names_.store;
  }

  bool pads() const {
    return std::any_of(plan_.p.nodes.begin(), plan_.p.nodes.end(), [](const node& n) { return !n.guards.empty(); });
  }

  std::string heading() const {
    std::string text = "// ---- " + group_.name + ": contraction ----\n";
    for (const int id : group_.statements) text += "//   " + ir_.statements[index(id)].text + "\n";
    std::string depth;
    for (const int variable : plan_.depth) depth += (depth.empty() ? "" : ", ") + name(variable);
    text += fmt::format("// {}{} along the lanes, sums over {} in {}",
                        plan_.row >= 0 ? "Rows " + name(plan_.row) + ", columns " : "Columns ", name(plan_.column), depth, names_.real);
    for (std::size_t b = 0; b < plan_.batch.size(); ++b) text += (b == 0 ? "; one matrix per " : ", ") + name(plan_.batch[b]);
    return text + ".\n// Decisions: " + decisions_ + "\n";
  }

  std::string constants() const {
    std::string text = fmt::format("using real = {};\nusing vec = {};\nusing lane_numbers = {};\nusing sum_t = {};\n", names_.real,
                                   names_.vec, names_.lane_numbers, integers() ? "int32_t" : "real");
    text += fmt::format("constexpr int LANES = {};\n", names_.lanes);
    const auto constant = [&](const std::string& declaration, const std::string& why) {
      text += fmt::format("constexpr {};  // {}\n", declaration, why);
    };
    if (schedule_.dot) {
      constant(fmt::format("int MR = {}", schedule_.dot_rows), "rows per pass over a strip of the right operand");
      constant(fmt::format("int COLUMNS = {}", schedule_.dot_columns), "columns of the right operand streamed together");
      constant(fmt::format("int VECTORS = {}", schedule_.dot_vectors), "independent sums per row and column");
      constant(fmt::format("int STRIP = {}", dot_strip_columns), "columns finished together");
      constant(fmt::format("int64_t LEFT_BYTES = {}", dot_left_bytes), "packed left rows, kept in L2");
    } else {
      constant(fmt::format("int MR = {}", schedule_.tile_rows), "rows of the register tile");
      constant(fmt::format("int NV = {}", schedule_.tile_vectors), "vectors per row of it");
      constant("int NR = NV * LANES", "columns of the register tile");
      constant(fmt::format("int64_t KC = {}", schedule_.depth_block), "depth of a block: sums leave the registers after that many steps");
      constant(fmt::format("int64_t MC = {}", schedule_.row_block), "rows of a block: its left panels stay in L2");
      constant(fmt::format("int64_t NC = {}", fmt::format("({} + NR - 1) / NR * NR", schedule_.column_block)),
               "columns of a block: its right panels stay in L2 or L3");
      if (schedule_.share == sharing::depth)
        constant(fmt::format("int64_t DEPTH_UNIT = {}", depth_share_unit), "threads cut the depth at multiples of it");
    }
    constant(fmt::format("double SERIAL_BELOW = {}", serial_below_products), "products that one thread does faster than several");
    return text;
  }

  /// Which matrix of the batch: the values of its indices.
  std::string slice_text() const {
    std::string fields, decode;
    for (std::size_t b = plan_.batch.size(); b-- > 0;) {
      const int variable = plan_.batch[b];
      const std::string extent = plan_.extent(variable).text(ir_);
      fields = fmt::format(" int64_t {}_;", name(variable)) + fields;
      decode += fmt::format("  s.{}_ = {};\n", name(variable), b == 0 ? "matrix" : "matrix % " + group_text(extent));
      if (b > 0) decode += fmt::format("  matrix /= {};\n", group_text(extent));
    }
    if (plan_.batch.empty())
      return "struct slice {};  // there is one matrix\nstatic inline slice slice_of(const operands&, int64_t) { return {}; }\n";
    return fmt::format(
        "// Which matrix of the batch.\nstruct slice {{{} }};\nstatic inline slice slice_of([[maybe_unused]] const operands& t, int64_t "
        "matrix) {{\n"
        "  slice s;\n{}  return s;\n}}\n",
        fields, decode);
  }

  static std::string group_text(const std::string& product) {
    return product.find(' ') != std::string::npos && product.front() != '(' ? "(" + product + ")" : product;
  }

  emission make_emission(bool vector, int lane) const {
    emission e;
    e.p = &plan_.p;
    e.wide = wide();
    e.vector = vector;
    e.lane = lane;
    e.variable_names = variable_names_;
    return e;
  }

  /// How the depth is called in an operand function, and the lines that take a flat depth apart when it is made of several indices.
  std::pair<std::string, std::string> depth_parameter() const {
    if (plan_.depth.size() == 1) return {name(plan_.depth[0]) + "_", ""};
    std::string lines;
    polynomial inner = polynomial::constant(1);
    for (std::size_t d = plan_.depth.size(); d-- > 0;) {
      const int variable = plan_.depth[d];
      const std::string quotient =
          inner == polynomial::constant(1) ? "at_depth" : fmt::format("at_depth / {}", group_text(inner.text(ir_)));
      lines += fmt::format("  [[maybe_unused]] const int64_t {}_ = {}{};\n", name(variable), quotient,
                           d == 0 ? "" : fmt::format(" % {}", group_text(plan_.extent(variable).text(ir_))));
      inner = inner * plan_.extent(variable);
    }
    return {"at_depth", lines};
  }

  /// `side` is "left" or "right"; `along` says where lanes lie (-1: a scalar). Rows or columns come first, then the depth.
  void operand_function(const std::string& side, const std::string& suffix, int root, int outer, int along, bool depth_first) {
    if (pairs()) return pair_function(side, suffix, root, outer, along, depth_first);
    emission e = make_emission(along >= 0, along);
    const auto [depth, decode] = depth_parameter();
    const std::string outer_parameter = fmt::format("[[maybe_unused]] int64_t {}", outer >= 0 ? name(outer) + "_" : "only_row");
    const std::string depth_text = fmt::format("[[maybe_unused]] int64_t {}", depth);
    text_ += fmt::format(
        "\n[[gnu::always_inline]] static inline {} {}_{}(const operands& t, [[maybe_unused]] const slice& s, {}, {}{}) {{\n{}  return "
        "{};\n}}\n",
        along >= 0 ? "vec" : "real", side, suffix, depth_first ? depth_text : outer_parameter, depth_first ? outer_parameter : depth_text,
        along >= 0 ? ", [[maybe_unused]] int lanes" : "", decode, e.real(root));
    preludes_.merge(e.preludes);
  }

  /// The same for panels of pairs: the operand is one load (perhaps cast to a wider integer), the depth counts pairs.
  void pair_function(const std::string& side, const std::string& suffix, int root, int outer, int along, bool depth_first) {
    while (plan_.p.nodes[index(root)].kind == node_kind::cast) root = plan_.p.nodes[index(root)].arguments[0];
    const linear_form& where = plan_.p.nodes[index(root)].where;
    const std::string depth = name(plan_.depth[0]) + "_", extent = plan_.extent(plan_.depth[0]).text(ir_);
    emission e = make_emission(false, -1);
    const std::string tensor = "t." + ir_.tensors[index(where.tensor)].name;
    const std::string pointer = integers() ? tensor : "reinterpret_cast<const int16_t*>(" + tensor + ")";
    const auto at_depth = [&](const std::string& k) {
      e.variable_names[index(plan_.depth[0])] = k;
      return pointer + " + " + e.address(where);
    };
    const std::string first = at_depth("(2 * pair)"), second = at_depth("(2 * pair + 1)");
    const std::string has_second = fmt::format("2 * pair + 1 < {}", extent);
    std::string value;
    if (along == plan_.depth[0])
      value = fmt::format("read_pairs({}, {} - 2 * pair, lanes)", first, extent);
    else if (along >= 0)
      value = fmt::format("join_pairs(read_whole({}, lanes), {} ? read_whole({}, lanes) : vi{{}})", first, has_second, second);
    else
      value = fmt::format("join_pair(*({}), {} ? *({}) : 0)", first, has_second, second);
    const std::string outer_parameter = fmt::format("[[maybe_unused]] int64_t {}", outer >= 0 ? name(outer) + "_" : "only_row");
    text_ += fmt::format(
        "\n[[gnu::always_inline]] static inline {} {}_{}(const operands& t, [[maybe_unused]] const slice& s, {}, {}{}) {{\n  return "
        "{};\n}}\n",
        along >= 0 ? "vi" : "int32_t", side, suffix, depth_first ? "int64_t pair" : outer_parameter,
        depth_first ? outer_parameter : "int64_t pair", along >= 0 ? ", [[maybe_unused]] int lanes" : "", value);
  }

  void pack_right_functions() {
    const bool one_depth = plan_.depth.size() == 1;
    const program& p = plan_.p;
    const bool whole_rows = !pairs() && vectorisable(p, plan_.right, plan_.column) && p.used(plan_.right).contains(plan_.column);
    const bool depth_in_lanes = one_depth && in_lanes(plan_.right, plan_.depth[0]);
    if (in_lanes(plan_.right, plan_.column) || (whole_rows && !depth_in_lanes)) {
      operand_function("right", "columns", plan_.right, plan_.column, plan_.column, true);
      add(pack_right_columns_text);
    } else if (depth_in_lanes) {
      operand_function("right", "depth", plan_.right, plan_.column, plan_.depth[0], true);
      need_transpose();
      add(pack_right_depth_text);
    } else {
      operand_function("right", "at", plan_.right, plan_.column, -1, true);
      add(pack_right_scalar_text);
    }
  }

  /// Can lanes of the operand along `variable` be read from neighbouring elements?
  bool in_lanes(int root, int variable) const {
    const program& p = plan_.p;
    if (!contiguous(p, root, variable)) return false;
    if (!pairs()) return vectorisable(p, root, variable);
    while (p.nodes[index(root)].kind == node_kind::cast) root = p.nodes[index(root)].arguments[0];
    return !p.nodes[index(root)].where.stride(variable).is_zero();
  }

  void pack_left_functions() {
    const bool one_depth = plan_.depth.size() == 1;
    const bool flat = !one_depth && flat_depth(plan_.left);
    if (flat || (one_depth && in_lanes(plan_.left, plan_.depth[0]))) {
      if (flat) return pack_flat_left();
      operand_function("left", "depth", plan_.left, plan_.row, plan_.depth[0], false);
      add(pack_left_depth_text);
    } else if (plan_.row >= 0 && in_lanes(plan_.left, plan_.row)) {
      operand_function("left", "rows", plan_.left, plan_.row, plan_.row, false);
      need_transpose();
      add(pack_left_rows_text);
    } else {
      operand_function("left", "at", plan_.left, plan_.row, -1, false);
      add(pack_left_scalar_text);
    }
  }

  /// Do the depth indices, which don't collapse for both operands, collapse for this one?
  bool flat_depth(int root) const {
    const node& n = plan_.p.nodes[index(root)];
    if (n.kind == node_kind::variable && std::find(plan_.depth.begin(), plan_.depth.end(), n.symbol) != plan_.depth.end()) return false;
    if (n.kind == node_kind::load) {
      if (!n.guards.empty() || !(n.where.stride(plan_.depth.back()) == polynomial::constant(1))) return false;
      for (std::size_t d = 0; d + 1 < plan_.depth.size(); ++d)
        if (!(n.where.stride(plan_.depth[d]) == n.where.stride(plan_.depth[d + 1]) * plan_.extent(plan_.depth[d + 1]))) return false;
    }
    return std::all_of(n.arguments.begin(), n.arguments.end(), [&](int argument) { return flat_depth(argument); }) &&
           vectorisable(plan_.p, root, plan_.depth.back());
  }

  void pack_flat_left() {
    const std::vector<std::string> names = variable_names_;
    for (const int variable : plan_.depth) variable_names_[index(variable)] = variable == plan_.depth.back() ? "at_depth" : "0";
    emission e = make_emission(true, plan_.depth.back());
    variable_names_ = names;
    text_ += fmt::format(
        "\n[[gnu::always_inline]] static inline vec left_depth(const operands& t, [[maybe_unused]] const slice& s, [[maybe_unused]] "
        "int64_t {}, "
        "int64_t at_depth, [[maybe_unused]] int lanes) {{\n  return {};\n}}\n",
        plan_.row >= 0 ? name(plan_.row) + "_" : "only_row", e.real(plan_.left));
    preludes_.merge(e.preludes);
    add(pack_left_depth_text);
  }

  void need_transpose() {
    if (has_transpose_) return;
    has_transpose_ = true;
    add(transpose_text);
  }

  void emit_finish() {
    const bool vector = steps_vectorisable(plan_.p, plan_.steps, plan_.column);
    emission e = make_emission(vector, plan_.column);
    std::map<std::string, std::string> values = {
        {"STEPS", step_lines(e, plan_.steps, integers() && vector ? "to_vf(sum)" : "sum", "  ")},
        {"COLUMN", name(plan_.column) + "_"},
        {"ROW_PARAMETER", plan_.row >= 0 ? fmt::format("int64_t {}_, ", name(plan_.row)) : ""},
        {"ROW_ARGUMENT", plan_.row >= 0 ? "row0 + i, " : ""},
        {"LANES_NOTE", "neighbouring columns"},
    };
    add(vector ? finish_lanes_text : finish_scalar_text, values);
    preludes_.merge(e.preludes);
  }

  /// Address of an in-place operand with the row (or column) and depth as given.
  std::string in_place(int root, int outer, const std::string& outer_text, const std::string& depth_text) const {
    emission e = make_emission(false, -1);
    if (outer >= 0) e.variable_names[index(outer)] = outer_text;
    e.variable_names[index(plan_.depth[0])] = depth_text;
    const linear_form& where = plan_.p.nodes[index(root)].where;
    return fmt::format("t.{} + {}", ir_.tensors[index(where.tensor)].name, e.address(where));
  }

  std::string stride_text(int root, int variable) const {
    return variable < 0 ? "0" : plan_.p.nodes[index(root)].where.stride(variable).text(ir_);
  }

  void emit_blocked() {
    pack_right_functions();
    pack_left_functions();
    add(multiply_text, {{"UNROLL", std::to_string(schedule_.unroll)}, {"PREFETCH", prefetch_text()}});
    emit_finish();
    add(block_text, block_values());
    if (schedule_.share == sharing::depth)
      add(run_depth_text, run_values());
    else
      add(run_shared_text, run_values());
  }

  std::string prefetch_text() const {
    if (schedule_.prefetch == 0) return "";
    if (schedule_.dot)
      return fmt::format(
          "for (int j = 0; j < COLUMNS; ++j) __builtin_prefetch(right_address(t, s, k + v * LANES + {} * LANES, column0 + j));",
          schedule_.prefetch);
    // Rows that lie in memory go to L2: the block that is multiplied now needs L1.
    return fmt::format("for (int v = 0; v < NV; ++v) __builtin_prefetch(b + (k + {}) * b_step + v * LANES{});", schedule_.prefetch,
                       right_in_place_ ? ", 0, 2" : "");
  }

  std::map<std::string, std::string> block_values() const {
    std::map<std::string, std::string> v;
    v["STEPS_OF_DEPTH"] = "k.size()";
    if (right_in_place_) {
      v["PACK_RIGHT"] =
          "// Whole panels are read where they lie; only the ragged one at the end is packed.\n"
          "      @WORD@* ragged_right = nc % NR != 0 ? scratch<@WORD@, 1>(NR * k.size()) : nullptr;\n"
          "      if (ragged_right) pack_right(t, s, k, jc + nc / NR * NR, nc % NR, ragged_right);";
      v["RIGHT_PANEL"] = fmt::format(
          "const bool whole_columns = j + NR <= nc;\n"
          "          const real* right = whole_columns ? {} : ragged_right;\n"
          "          const int64_t right_step = whole_columns ? {} : NR;",
          in_place(plan_.right, plan_.column, "(jc + j)", "k.begin"), stride_text(plan_.right, plan_.depth[0]));
      v["RIGHT_STRIDE"] = "right_step";
    } else {
      v["PACK_RIGHT"] =
          "@WORD@* right_panels = scratch<@WORD@, 1>((nc + NR - 1) / NR * NR * k.size());\n"
          "      pack_right(t, s, k, jc, nc, right_panels);";
      v["RIGHT_PANEL"] = "const @WORD@* right = right_panels + j * k.size();";
      v["RIGHT_STRIDE"] = "NR";
    }
    if (left_in_place_) {
      v["PACK_LEFT"] =
          "// Whole panels are read where they lie; only the ragged one at the end is packed.\n"
          "        @WORD@* ragged_left = mc % MR != 0 ? scratch<@WORD@, 0>(2 * MR * left_ld) : nullptr;\n"
          "        if (ragged_left) pack_left(t, s, ic + mc / MR * MR, mc % MR, k, ragged_left, left_ld);";
      v["LEFT_PANEL"] = fmt::format(
          "const bool whole_rows = i + MR <= mc;\n"
          "            const real* left = whole_rows ? {} : ragged_left;\n"
          "            const int64_t left_row = whole_rows ? {} : left_ld, left_step = whole_rows ? {} : 1;",
          in_place(plan_.left, plan_.row, "(ic + i)", "k.begin"), stride_text(plan_.left, plan_.row),
          stride_text(plan_.left, plan_.depth[0]));
      v["LEFT_STRIDES"] = "left_row, left_step";
    } else {
      v["PACK_LEFT"] =
          "@WORD@* left_panels = scratch<@WORD@, 0>((mc + MR) * left_ld);\n"
          "        pack_left(t, s, ic, mc, k, left_panels, left_ld);";
      v["LEFT_PANEL"] = "const @WORD@* left = left_panels + i * left_ld;";
      v["LEFT_STRIDES"] = "left_ld, 1";
    }
    return v;
  }

  std::map<std::string, std::string> run_values() const {
    std::map<std::string, std::string> v;
    v["ROWS"] = plan_.extent(plan_.row).text(ir_);
    v["COLUMNS"] = plan_.extent(plan_.column).text(ir_);
    v["DEPTH"] = pairs() ? fmt::format("({} + 1) / 2", plan_.depth_extent().text(ir_)) : plan_.depth_extent().text(ir_);
    polynomial matrices = polynomial::constant(1);
    for (const int variable : plan_.batch) matrices = matrices * plan_.extent(variable);
    v["MATRICES"] = matrices.text(ir_);
    v["ROW_UNIT"] = "MR";
    v["COLUMN_UNIT"] = schedule_.dot ? "LANES" : "NR";
    v["WORK"] = schedule_.dot ? "block(t, s, my_rows, my_columns, depth);" : "block(t, s, my_rows, my_columns, {0, depth}, nullptr, 0);";
    switch (schedule_.share) {
      case sharing::rows:
        v["PARTS"] = "const int64_t row_parts = parts, column_parts = 1;";
        break;
      case sharing::columns:
        v["PARTS"] = "const int64_t row_parts = 1, column_parts = parts;";
        break;
      default:
        v["PARTS"] =
            "// A grid of about square shares.\n"
            "  int64_t row_parts = 1;\n"
            "  for (int64_t p = 1; p <= parts; ++p)\n"
            "    if (parts % p == 0 && double(p) * double(p) <= double(parts) * double(rows) / double(columns)) row_parts = p;\n"
            "  const int64_t column_parts = parts / row_parts;";
    }
    return v;
  }

  void emit_dot() {
    operand_function("right", "depth", plan_.right, plan_.column, plan_.depth[0], true);
    pack_left_functions();
    if (schedule_.prefetch > 0) emit_right_address();
    emit_finish();
    add(dot_text, {{"PREFETCH", prefetch_text()}});
    add(run_shared_text, run_values());
  }

  /// Where the first load of the right operand lies, for prefetching.
  void emit_right_address() {
    const linear_form* where = nullptr;
    for (const node& n : plan_.p.nodes)
      if (n.kind == node_kind::load && n.where.stride(plan_.depth[0]) == polynomial::constant(1) &&
          plan_.p.used(plan_.right).contains(plan_.column) && n.where.strides.contains(plan_.column))
        where = &n.where;
    std::string value = "nullptr";
    emission e = make_emission(false, -1);
    if (where != nullptr) value = fmt::format("t.{} + {}", ir_.tensors[index(where->tensor)].name, e.address(*where));
    text_ += fmt::format(
        "\nstatic inline const void* right_address([[maybe_unused]] const operands& t, [[maybe_unused]] const slice& s, [[maybe_unused]] "
        "int64_t {}_, "
        "[[maybe_unused]] int64_t {}_) {{\n  return {};\n}}\n",
        name(plan_.depth[0]), name(plan_.column), value);
  }

  const contraction_plan& plan_;
  const tensor_ir& ir_;
  contraction_schedule schedule_;
  const fusion_group& group_;
  std::string decisions_;
  number_names names_;
  bool left_in_place_ = false, right_in_place_ = false, has_transpose_ = false;
  std::vector<std::string> variable_names_;
  std::map<std::string, std::string> base_;
  std::set<std::string> preludes_;
  std::string text_;
};

}  // namespace

emitted_group emit_contraction(const contraction_plan& plan, const contraction_schedule& schedule, const fusion_group& group,
                               const std::string& decisions) {
  return contraction_emitter(plan, schedule, group, decisions).run();
}

}  // namespace kernsmith::agents::nest
