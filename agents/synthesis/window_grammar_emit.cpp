// Direct windows as source: lanes along the last output index, loops over the window inside.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/contraction_grammar_emit.hpp"
#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/prelude.hpp"
#include "agents/synthesis/window_grammar_plan.hpp"

namespace kernsmith::agents::nest {
namespace {

constexpr std::int64_t max_unrolled_extent = 7;

constexpr std::string_view window_text = R"kernel(
// BLOCK x VECTORS vectors of outputs. INSIDE: no lane falls outside of a padded tensor.
template <int BLOCK, int VECTORS, bool INSIDE>
[[gnu::always_inline]] static inline void window(const operands& t, @PARAMETERS@, [[maybe_unused]] int lanes) {
  vec total[BLOCK][VECTORS];
#pragma GCC unroll 8
  for (int b = 0; b < BLOCK; ++b)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) total[b][v] = splat(@START@);
@LOOPS@
@SHARED@
#pragma GCC unroll 8
@INDENT@for (int b = 0; b < BLOCK; ++b)
#pragma GCC unroll 4
@INDENT@  for (int v = 0; v < VECTORS; ++v) {
@INDENT@    vec& sum = total[b][v];
@INDENT@    @COMBINE@
@INDENT@  }
@CLOSE@
#pragma GCC unroll 8
  for (int b = 0; b < BLOCK; ++b)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) finish(t, @FINISH_ARGUMENTS@, total[b][v], lanes);
}

// A run of outputs: several vectors at a time, then one by one; the last vector is moved back to be whole where the run allows it.
template <int BLOCK>
static void line(const operands& t, @LINE_PARAMETERS@, range lane) {
  int64_t at = lane.begin;
  for (; at + NV * LANES <= lane.end; at += NV * LANES) {
    if (@INSIDE_WIDE@)
      window<BLOCK, NV, true>(t, @LINE_ARGUMENTS@, LANES);
    else
      window<BLOCK, NV, false>(t, @LINE_ARGUMENTS@, LANES);
  }
  for (; at < lane.end; at += LANES) {
    if (at + LANES > lane.end && lane.size() >= LANES) at = lane.end - LANES;
    const int lanes = int(std::min<int64_t>(LANES, lane.end - at));
    if (lanes == LANES && @INSIDE_ONE@)
      window<BLOCK, 1, true>(t, @LINE_ARGUMENTS@, LANES);
    else
      window<BLOCK, 1, false>(t, @LINE_ARGUMENTS@, lanes);
  }
}
)kernel";

constexpr std::string_view window_run_text = R"kernel(
static void run(const operands& t, int threads) {
  const int64_t lines = @LINES@;
  // Lines are cut only when there are fewer than threads.
  const int64_t cuts = lines >= threads ? 1 : threads;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t task = 0; task < lines * cuts; ++task) {
    const range lane = share(@LANE_EXTENT@, cuts, task % cuts, LANES);
    [[maybe_unused]] int64_t rest = task / cuts;
@DECODE@
    @CALL@
  }
}
)kernel";

class window_emitter {
 public:
  window_emitter(const window_plan& plan, const window_schedule& schedule, const fusion_group& group, std::string decisions)
      : plan_(plan), ir_(*plan.p.ir), schedule_(schedule), group_(group), decisions_(std::move(decisions)), names_(names_of(plan.wide)) {
    for (const loop_variable& variable : plan.p.variables) variable_names_.push_back(variable.name + "_");
    fills_ = lane_fills(names_);
  }

  emitted_group run() {
    emitted_group out;
    const std::string space = group_.name + "_window";
    const operand_members members = members_of(ir_, group_, plan_.steps);
    text_ = "// ---- " + group_.name + ": window ----\n";
    for (const int id : group_.statements) text_ += "//   " + ir_.statements[index(id)].text + "\n";
    text_ += fmt::format("// {} along the lanes.\n// Decisions: {}\nnamespace {} {{\n\n", name(plan_.lane), decisions_, space);
    text_ += fmt::format("using real = {};\nusing vec = {};\nusing lane_numbers = {};\nconstexpr int LANES = {};\n", names_.real,
                         names_.vec, names_.lane_numbers, names_.lanes);
    text_ += fmt::format("constexpr int NV = {};  // neighbouring vectors of outputs computed together\n", schedule_.vectors);
    text_ += "\nstruct operands {\n" + members.declarations + "\n};\n";
    add(range_text);
    add(lane_helpers_text);
    add(pad_helpers_text);
    emit_finish();
    emit_nest();
    text_ += "\n}  // namespace " + space;
    out.functions = std::move(text_);
    out.call = fmt::format("{0}::run({0}::operands{{{1}}}, ctx->threads);", space, members.initialisers);
    preludes_.insert({"types", plan_.wide ? "simd64" : "simd"});
    out.preludes = std::move(preludes_);
    out.stored = plan_.stored;
    return out;
  }

 private:
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  const std::string& name(int variable) const { return plan_.p.variables[index(variable)].name; }
  std::string extent(int variable) const { return plan_.p.variables[index(variable)].extent.text(ir_); }

  void add(std::string_view text, std::map<std::string, std::string> values = {}) {
    values.insert(fills_.begin(), fills_.end());
    text_ += fill(text, values);
  }

  emission make_emission(bool inside) const {
    emission e;
    e.p = &plan_.p;
    e.wide = plan_.wide;
    e.vector = true;
    e.lane = plan_.lane;
    e.lanes_inside = inside;
    e.variable_names = variable_names_;
    return e;
  }

  std::string outer_parameters() const {
    std::string text;
    for (const int variable : plan_.outer) text += fmt::format("[[maybe_unused]] int64_t {}_, ", name(variable));
    return text;
  }

  void emit_finish() {
    emission e = make_emission(true);
    const std::string lines = step_lines(e, plan_.steps, "sum", "  ");
    preludes_.merge(e.preludes);
    text_ += fmt::format(
        "\n// From neighbouring results of the window to what is stored.\n[[gnu::always_inline]] static inline void finish(const operands& "
        "t, "
        "{}int64_t {}_, vec sum, [[maybe_unused]] int lanes) {{\n{}\n}}\n",
        outer_parameters(), name(plan_.lane), lines);
  }

  /// Text of a tree for vector `v` of member `b` of the block; edges and insides differ only along the lanes.
  std::string at_output(int root, bool inside) {
    emission e = make_emission(inside);
    e.variable_names[index(plan_.lane)] = fmt::format("({}_ + v * LANES)", name(plan_.lane));
    if (plan_.block >= 0) e.variable_names[index(plan_.block)] = fmt::format("({}_ + b)", name(plan_.block));
    const std::string text = e.real(root);
    preludes_.merge(e.preludes);
    return text;
  }

  /// What all members of the block share: the factor of the body (or the whole of it) that doesn't depend on the block variable.
  /// Computed once per vector, so that the padded loads in it stand in the source once.
  void split_body(std::map<std::string, std::string>& v) {
    const node& body = plan_.p.nodes[index(plan_.body)];
    const bool product = plan_.reducer == reduction::sum && body.kind == node_kind::call && body.op == operation::multiply;
    const auto common = [&](int root) { return plan_.block < 0 || !plan_.p.used(root).contains(plan_.block); };
    int shared = -1, own = -1;
    if (product) {
      shared = body.arguments[0];
      own = body.arguments[1];
      if (!common(shared) || !plan_.p.used(shared).contains(plan_.lane)) std::swap(shared, own);
      if (!common(shared)) shared = -1;
    } else if (common(plan_.body)) {
      shared = plan_.body;
    }
    const std::string indent = v["INDENT"];
    if (shared >= 0)
      v["SHARED"] = fmt::format(
          "{0}vec shared[VECTORS];\n#pragma GCC unroll 4\n{0}for (int v = 0; v < VECTORS; ++v) {{\n{0}  if constexpr (INSIDE)\n{0}    "
          "shared[v] = {1};\n"
          "{0}  else\n{0}    shared[v] = {2};\n{0}}}",
          indent, at_output(shared, true), at_output(shared, false));
    else
      v["SHARED"] = "";
    const std::string element = shared >= 0 ? "shared[v]" : at_output(plan_.body, false);
    if (product && shared >= 0)
      v["COMBINE"] = fmt::format("sum = vfma({}, shared[v], sum);", at_output(own, false));
    else if (plan_.reducer == reduction::sum)
      v["COMBINE"] = fmt::format("sum += {};", element);
    else if (plan_.reducer == reduction::prod)
      v["COMBINE"] = fmt::format("sum *= {};", element);
    else
      v["COMBINE"] = fmt::format("sum = {}({}, sum);", plan_.reducer == reduction::max ? "vmax" : "vmin", element);
  }

  /// Do all lanes of `width` fall inside whatever the window's position? Each padded dimension along the lanes is bounded.
  std::string inside_condition(const std::string& width) const {
    emission e = make_emission(true);
    e.variable_names[index(plan_.lane)] = "at";
    std::string all;
    for (const node& n : plan_.p.nodes) {
      for (const guard& g : n.guards) {
        const auto along = g.strides.find(plan_.lane);
        if (along == g.strides.end()) continue;
        guard fixed = g;
        std::string low, high = fmt::format(" + {} * ({} - 1)", along->second.text(ir_), width);
        if (const auto step = along->second.as_constant(); !step || *step < 0) return "false";
        for (const int variable : plan_.bound) {
          const auto found = fixed.strides.find(variable);
          if (found == fixed.strides.end()) continue;
          const std::optional<std::int64_t> step = found->second.as_constant();
          if (!step) return "false";
          (*step > 0 ? high : low) += fmt::format(" + {} * ({} - 1)", *step, extent(variable));
          fixed.strides.erase(found);
        }
        const std::string position = e.position(fixed);
        const std::string condition = fmt::format("{}{} >= 0 && {}{} < {}", position, low, position, high, g.extent.text(ir_));
        if (all.find(condition) == std::string::npos) all += (all.empty() ? "" : " && ") + condition;
      }
    }
    return all.empty() ? "true" : all;
  }

  void emit_nest() {
    std::map<std::string, std::string> v;
    const std::string lane = name(plan_.lane) + "_";
    v["PARAMETERS"] = outer_parameters() + "int64_t " + lane;
    v["START"] = plan_.reducer == reduction::sum    ? "0"
                 : plan_.reducer == reduction::prod ? "1"
                 : plan_.reducer == reduction::max  ? "-INFINITY"
                                                    : "INFINITY";
    std::string loops, close, indent = "  ";
    for (const int variable : plan_.bound) {
      const std::optional<std::int64_t> fixed = plan_.p.variables[index(variable)].extent.as_constant();
      if (schedule_.unroll && fixed && *fixed <= max_unrolled_extent) loops += fmt::format("#pragma GCC unroll {}\n", *fixed);
      loops += fmt::format("{0}for (int64_t {1}_ = 0; {1}_ < {2}; ++{1}_) {{\n", indent, name(variable), extent(variable));
      close = indent + "}\n" + close;
      indent += "  ";
    }
    if (!loops.empty()) loops.pop_back();
    if (!close.empty()) close.pop_back();
    v["LOOPS"] = loops;
    v["CLOSE"] = close;
    v["INDENT"] = indent;
    split_body(v);
    std::string arguments, line_arguments;
    for (const int variable : plan_.outer) {
      arguments += fmt::format("{}_{}, ", name(variable), variable == plan_.block ? " + b" : "");
      line_arguments += name(variable) + "_, ";
    }
    v["FINISH_ARGUMENTS"] = arguments + lane + " + v * LANES";
    std::string parameters = outer_parameters();
    if (!parameters.empty()) parameters.resize(parameters.size() - 2);
    v["LINE_PARAMETERS"] = parameters.empty() ? "[[maybe_unused]] int only" : parameters;
    v["LINE_ARGUMENTS"] = line_arguments + "at";
    v["INSIDE_WIDE"] = inside_condition("NV * LANES");
    v["INSIDE_ONE"] = inside_condition("LANES");
    add(window_text, v);
    emit_run();
  }

  void emit_run() {
    std::map<std::string, std::string> v;
    std::string lines = "1", decode;
    std::string arguments;
    for (std::size_t o = plan_.outer.size(); o-- > 0;) {
      const int variable = plan_.outer[o];
      const bool blocked = variable == plan_.block && schedule_.block > 1;
      const std::string steps =
          blocked ? fmt::format("(({} + {}) / {})", extent(variable), schedule_.block - 1, schedule_.block) : "(" + extent(variable) + ")";
      lines = steps + (lines == "1" ? "" : " * " + lines);
      decode += fmt::format("    const int64_t {}_ = {}{};\n", name(variable), o == 0 ? "rest" : "rest % " + steps,
                            blocked ? fmt::format(" * {}", schedule_.block) : "");
      if (o > 0) decode += fmt::format("    rest /= {};\n", steps);
    }
    for (const int variable : plan_.outer) arguments += name(variable) + "_, ";
    if (!decode.empty()) decode.pop_back();
    if (arguments.empty()) arguments = "0, ";
    v["LINES"] = lines;
    v["DECODE"] = decode;
    v["LANE_EXTENT"] = extent(plan_.lane);
    if (plan_.block >= 0 && schedule_.block > 1) {
      std::string single;
      for (const int variable : plan_.outer) single += (variable == plan_.block ? std::string("one") : name(variable) + "_") + ", ";
      v["CALL"] = fmt::format(
          "if ({0}_ + {1} <= {2})\n      line<{1}>(t, {3}lane);\n    else\n      for (int64_t one = {0}_; one < {2}; ++one) line<1>(t, "
          "{4}lane);",
          name(plan_.block), schedule_.block, extent(plan_.block), arguments, single);
    } else {
      v["CALL"] = fmt::format("line<1>(t, {}lane);", arguments);
    }
    add(window_run_text, v);
  }

  const window_plan& plan_;
  const tensor_ir& ir_;
  window_schedule schedule_;
  const fusion_group& group_;
  std::string decisions_;
  number_names names_;
  std::vector<std::string> variable_names_;
  std::map<std::string, std::string> fills_;
  std::set<std::string> preludes_;
  std::string text_;
};

}  // namespace

emitted_group emit_window(const window_plan& plan, const window_schedule& schedule, const fusion_group& group,
                          const std::string& decisions) {
  return window_emitter(plan, schedule, group, decisions).run();
}

}  // namespace kernsmith::agents::nest
