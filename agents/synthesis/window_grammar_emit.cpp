// Direct windows as source: lanes along the last output index, loops over the window inside.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/window_grammar_writer.hpp"

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

class window_emitter : window_writer {
 public:
  window_emitter(const window_plan& plan, const window_schedule& schedule, const fusion_group& group, std::string decisions)
      : window_writer(plan, group, std::move(decisions)), schedule_(schedule) {}

  emitted_group run() {
    begin(plan_.lane, fmt::format("constexpr int NV = {};  // neighbouring vectors of outputs computed together\n", schedule_.vectors));
    emit_finish();
    emit_nest();
    return end();
  }

 private:
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

  window_schedule schedule_;
};

}  // namespace

emitted_group emit_window(const window_plan& plan, const window_schedule& schedule, const fusion_group& group,
                          const std::string& decisions) {
  return window_emitter(plan, schedule, group, decisions).run();
}

}  // namespace kernsmith::agents::nest
