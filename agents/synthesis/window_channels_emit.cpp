// Windows with lanes along the channels of the result: what slides is read where it lies, whatever its stride, and nothing but the weights
// is packed.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/window_grammar_writer.hpp"

namespace kernsmith::agents::nest {
namespace {

constexpr std::string_view channels_text = R"kernel(
// All weights as [group][block of CHANNELS][depth][CHANNELS]; beyond the last channel they are zero.
static void pack(const operands& t, float* packed, int threads) {
  const int64_t blocks = (@CHANNEL_EXTENT@ + CHANNELS - 1) / CHANNELS;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t task = 0; task < @GROUPS@ * blocks * (@DEPTH@); ++task) {
    const int64_t depth = task % (@DEPTH@), first = task / (@DEPTH@) % blocks * CHANNELS;
    [[maybe_unused]] int64_t rest = task / (@DEPTH@) / blocks;
@DECODE_GROUPS@
    rest = depth;
@DECODE_DEPTH@
    float* const to = packed + task * CHANNELS;
    for (int64_t @CHANNEL@ = first; @CHANNEL@ < first + CHANNELS; ++@CHANNEL@)
      to[@CHANNEL@ - first] = @CHANNEL@ < @CHANNEL_EXTENT@ ? float(@WEIGHT@) : 0;
  }
}

// COUNT neighbours of CHANNELS channels from @CHANNEL@ on. INSIDE: none of them falls outside of a padded tensor along the line.
template <int COUNT, bool INSIDE>
[[gnu::always_inline]] static inline void tile(const operands& t, @PARAMETERS@, const float* packed@STRETCHES_PARAMETER@) {
@COPY@
  vec sum[COUNT][NV];
#pragma GCC unroll 16
  for (int p = 0; p < COUNT; ++p)
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) sum[p][v] = splat(0);
@OUTER_LOOPS@
@SPAN@
@INNER_LOOP@
@INDENT@const float* const weights = packed + (@DEPTH_POSITION@) * CHANNELS;
@INDENT@vec w[NV];
#pragma GCC unroll 4
@INDENT@for (int v = 0; v < NV; ++v) w[v] = vload(weights + v * LANES);
@THERE@
#pragma GCC unroll 16
@INDENT@for (int p = 0; p < COUNT; ++p) {
@INDENT@  float x;
@INDENT@  if constexpr (INSIDE)
@INDENT@    x = @VALUE_INSIDE@;
@INDENT@  else
@INDENT@    x = @VALUE@;
@INDENT@  const vec all = splat(x);
#pragma GCC unroll 4
@INDENT@  for (int v = 0; v < NV; ++v) sum[p][v] = vfma(all, w[v], sum[p][v]);
@INDENT@}
@CLOSE@
  // From neighbours of channels to channels of neighbours.
  for (int v = 0; v < NV && @CHANNEL@ + v * LANES < @CHANNEL_EXTENT@; ++v) {
    vec square[LANES];
#pragma GCC unroll 16
    for (int p = 0; p < LANES; ++p) square[p] = p < COUNT ? sum[p < COUNT ? p : 0][v] : vec{};
    transpose(square);
    const int64_t count = std::min<int64_t>(LANES, @CHANNEL_EXTENT@ - @CHANNEL@ - v * LANES);
    for (int64_t c = 0; c < count; ++c) finish(t, @FINISH_ARGUMENTS@, square[c], COUNT);
  }
}

// A line, POINTS at a time, the last of them moved back if need be.
static void line(const operands& t, @LINE_PARAMETERS@, const float* packed, range lane) {
  const auto whole = [&]([[maybe_unused]] int64_t at) { return @INSIDE@; };
@ALLOCATE@
@WALK@
}

static void run(const operands& t, int threads) {
  const int64_t blocks = (@CHANNEL_EXTENT@ + CHANNELS - 1) / CHANNELS, lines = @LINES@;
  float* const packed = scratch<float, 0>(@GROUPS@ * blocks * (@DEPTH@) * CHANNELS);
  pack(t, packed, threads);
  // Lines are cut only when there are fewer than threads. Those of one block of channels come one after the other: its weights stay near.
  const int64_t cuts = blocks * lines >= threads ? 1 : threads;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t task = 0; task < blocks * lines * cuts; ++task) {
    const range lane = share(@LANE_EXTENT@, cuts, task % cuts, POINTS);
    const int64_t block = task / cuts / lines, @CHANNEL@ = block * CHANNELS;
    [[maybe_unused]] int64_t rest = task / cuts % lines;
@DECODE_LINE@
    line(t, @LINE_ARGUMENTS@, packed + (@GROUP@ * blocks + block) * (@DEPTH@) * CHANNELS, lane);
  }
}
)kernel";

/// The ends of a line have their stretches copied.
constexpr std::string_view walk_spans_text = R"kernel(  int64_t at = lane.begin;
  for (; at < lane.end && lane.size() >= POINTS; at += POINTS) {
    const int64_t from = std::min(at, lane.end - POINTS);
    if (whole(from) && whole(from + POINTS - 1))
      tile<POINTS, true>(t, @LINE_ARGUMENTS@, from, packed@STRETCHES@);
    else
      tile<POINTS, false>(t, @LINE_ARGUMENTS@, from, packed@STRETCHES@);
  }
  for (; at < lane.end; ++at) tile<1, false>(t, @LINE_ARGUMENTS@, at, packed@STRETCHES@);)kernel";

/// The ends of a line go one by one.
constexpr std::string_view walk_ends_text = R"kernel(  int64_t at = lane.begin, end = lane.end;
  for (; at < end && !whole(at); ++at) tile<1, false>(t, @LINE_ARGUMENTS@, at, packed@STRETCHES@);
  while (end > at && !whole(end - 1)) --end;
  const bool long_enough = end - at >= POINTS;
  for (; at < end && long_enough; at += POINTS) tile<POINTS, true>(t, @LINE_ARGUMENTS@, std::min(at, end - POINTS), packed@STRETCHES@);
  for (at = std::min(at, end); at < lane.end; ++at) tile<1, false>(t, @LINE_ARGUMENTS@, at, packed@STRETCHES@);)kernel";

class channels_emitter : window_writer {
 public:
  channels_emitter(const window_plan& plan, const channel_plan& channels, const channel_schedule& schedule, const fusion_group& group,
                   std::string decisions)
      : window_writer(plan, group, std::move(decisions)), channels_(channels), schedule_(schedule), inside_(plan.p), checked_(plan.p) {
    for (const int variable : plan.outer)
      if (variable != plan.block) lines_.push_back(variable);
    split_guards();
  }

  emitted_group run() {
    begin(plan_.block, fmt::format("constexpr int NV = {};      // vectors of channels computed together\n"
                                   "constexpr int POINTS = {};  // neighbours along {} that share the weights\n"
                                   "constexpr int CHANNELS = NV * LANES;\n",
                                   schedule_.vectors, schedule_.points, name(plan_.lane)));
    add(scratch_text);
    add(transpose_text, {{"WORDS", "vec"}});
    emit_finish();
    add(channels_text, fills());
    return end();
  }

 private:
  /// Sliding loads whose value is the tree itself: what doesn't vary along the line is looked at once for all its points.
  void split_guards() {
    const auto values = static_cast<std::size_t>(channels_.values);
    const auto along = [&](const guard& g) { return g.strides.contains(plan_.lane); };
    for (program* p : {&inside_, &checked_}) {
      for (node& n : p->nodes)
        if (p == &inside_) std::erase_if(n.guards, along);
      node& root = p->nodes[values];
      if (root.kind == node_kind::load) std::erase_if(root.guards, [&](const guard& g) { return !along(g); });
    }
    const node& root = plan_.p.nodes[values];
    if (root.kind != node_kind::load) return;
    for (const guard& g : root.guards)
      if (!along(g)) once_.push_back(g);
  }

  emission scalar(const program& p) const {
    emission e = make_emission(true);
    e.p = &p;
    e.vector = false;
    return e;
  }

  std::string value(const program& p) {
    emission e = scalar(p);
    e.variable_names[index(plan_.lane)] = fmt::format("({}_ + p)", name(plan_.lane));
    const std::string text = e.real(channels_.values);
    preludes_.merge(e.preludes);
    return text;
  }

  /// Indices of `variables` out of `rest`, the last one running fastest.
  std::string decode(const std::vector<int>& variables) const {
    std::string text;
    for (std::size_t i = variables.size(); i-- > 0;) {
      text += fmt::format("    [[maybe_unused]] const int64_t {}_ = {};\n", name(variables[i]),
                          i == 0 ? "rest" : fmt::format("rest % ({})", extent(variables[i])));
      if (i > 0) text += fmt::format("    rest /= {};\n", extent(variables[i]));
    }
    if (!text.empty()) text.pop_back();
    return text;
  }

  std::string product(const std::vector<int>& variables) const {
    std::string text;
    for (const int variable : variables) text += (text.empty() ? "" : " * ") + fmt::format("({})", extent(variable));
    return text.empty() ? "1" : text;
  }

  /// Where the indices stand among all of them, row-major.
  std::string position(const std::vector<int>& variables) const {
    std::string text;
    for (const int variable : variables)
      text = text.empty() ? name(variable) + "_" : fmt::format("({}) * ({}) + {}_", text, extent(variable), name(variable));
    return text.empty() ? "0" : text;
  }

  std::map<std::string, std::string> fills() {
    std::map<std::string, std::string> v;
    v["CHANNEL"] = name(plan_.block) + "_";
    v["CHANNEL_EXTENT"] = extent(plan_.block);
    v["LANE_EXTENT"] = extent(plan_.lane);
    v["GROUPS"] = product(channels_.groups);
    v["GROUP"] = "(" + position(channels_.groups) + ")";
    v["DEPTH"] = product(plan_.bound);
    v["DEPTH_POSITION"] = position(plan_.bound);
    v["LINES"] = product(lines_);
    v["DECODE_GROUPS"] = decode(channels_.groups);
    v["DECODE_DEPTH"] = decode(plan_.bound);
    v["DECODE_LINE"] = decode(lines_);
    emission weight = scalar(plan_.p);
    v["WEIGHT"] = weight.real(channels_.weights);
    preludes_.merge(weight.preludes);
    v["VALUE_INSIDE"] = value(inside_);
    v["VALUE"] = value(checked_);
    if (channels_.span)
      v["VALUE"] = fmt::format("stretch[p * {} + {}_ * {}]", channels_.span->step, name(plan_.bound.back()), channels_.span->window_step);
    std::string close, indent = "  ";
    for (const int variable : plan_.bound) {
      std::string& loops = v[variable == plan_.bound.back() ? "INNER_LOOP" : "OUTER_LOOPS"];
      if (variable == plan_.bound.back())
        v["SPAN"] = channels_.span ? fmt::format("{}[[maybe_unused]] const float* const stretch = stretches + ({}) * ({});", indent,
                                                 position(outer_bound()), stretch_elements("COUNT"))
                                   : "";
      loops += fmt::format("{0}for (int64_t {1}_ = 0; {1}_ < {2}; ++{1}_) {{\n", indent, name(variable), extent(variable));
      close = indent + "}\n" + close;
      indent += "  ";
    }
    for (const char* loops : {"INNER_LOOP", "OUTER_LOOPS"})
      if (!v[loops].empty()) v[loops].pop_back();
    if (!close.empty()) close.pop_back();
    v["CLOSE"] = close;
    v["INDENT"] = indent;
    v["THERE"] = there(indent);
    const std::string outer = outer_parameters(), lane = name(plan_.lane) + "_";
    v["PARAMETERS"] = outer + "int64_t " + lane;
    v["LINE_PARAMETERS"] = outer.substr(0, outer.size() - 2);
    std::string arguments, finish;
    for (const int variable : plan_.outer) {
      arguments += (arguments.empty() ? "" : ", ") + name(variable) + "_";
      finish += name(variable) + (variable == plan_.block ? "_ + v * LANES + c, " : "_, ");
    }
    v["LINE_ARGUMENTS"] = arguments;
    v["FINISH_ARGUMENTS"] = finish + lane;
    v["INSIDE"] = inside_condition("1");
    const bool copies = channels_.span.has_value();
    v["STRETCHES_PARAMETER"] = copies ? ", [[maybe_unused]] float* stretches" : "";
    v["COPY"] = copies ? copy() : "";
    v["ALLOCATE"] =
        copies ? fmt::format("  float* const stretches = scratch<float, 1>({} * ({}));", product(outer_bound()), stretch_elements("POINTS"))
               : "";
    v["WALK"] = fill(channels_.span ? walk_spans_text : walk_ends_text,
                     {{"LINE_ARGUMENTS", arguments}, {"STRETCHES", copies ? ", stretches" : ""}});
    v["WALK"].pop_back();
    return v;
  }

  std::string reach() const {
    const channel_span& s = *channels_.span;
    return fmt::format("(COUNT - 1) * {} + {}", s.step, s.window_step * (s.window_extent - 1) + 1);
  }

  /// Elements of one stretch, a whole number of vectors.
  std::string stretch_elements(const char* count) const {
    const channel_span& s = *channels_.span;
    return fmt::format("(({} - 1) * {} + {} + LANES) / LANES * LANES", count, s.step, s.window_step * (s.window_extent - 1));
  }

  std::vector<int> outer_bound() const { return {plan_.bound.begin(), plan_.bound.end() - 1}; }

  /// What the innermost loops read of a padded line, pad included, before any sums are in the registers.
  std::string copy() const {
    const channel_span& s = *channels_.span;
    emission e = scalar(plan_.p);
    e.variable_names[index(plan_.bound.back())] = "0";
    const node& load = plan_.p.nodes[index(channels_.values)];
    std::string text = "  if constexpr (!INSIDE) {\n    float* to = stretches;\n", indent = "    ", close;
    for (const int variable : outer_bound()) {
      text += fmt::format("{0}for (int64_t {1}_ = 0; {1}_ < {2}; ++{1}_) {{\n", indent, name(variable), extent(variable));
      close = indent + "}\n" + close;
      indent += "  ";
    }
    const std::string condition = reached();
    if (!condition.empty()) text += fmt::format("{}if ({}) {{\n", indent, condition);
    text += fmt::format(
        "{0}const int64_t from = {1}, position = {2};\n{0}for (int i = 0; i < {3}; i += LANES)\n{0}  vstore(to + i, read_padded(t.{4}, "
        "from + i, "
        "1, position + i, 1, {5}, LANES, {6}));\n",
        indent, e.address(load.where), e.position(s.along), reach(), ir_.tensors[index(load.where.tensor)].name, s.along.extent.text(ir_),
        e.number(load.number));
    if (!condition.empty()) text += indent + "}\n";
    return text + fmt::format("{}to += {};\n{}  }}", indent, stretch_elements("COUNT"), close);
  }

  /// Does this step of the window lie inside for the whole line?
  std::string reached() const {
    const emission e = scalar(plan_.p);
    std::string condition;
    for (const guard& g : once_)
      condition += fmt::format("{}inside({}, {})", condition.empty() ? "" : " && ", e.position(g), g.extent.text(ir_));
    return condition;
  }

  /// A step of the window that lies outside for the whole line: the pad instead of what slides.
  std::string there(const std::string& indent) {
    if (once_.empty()) return "";
    const std::string condition = reached(), pad = scalar(plan_.p).number(plan_.p.nodes[index(channels_.values)].number);
    return fmt::format(
        "{0}if (!({1})) {{\n#pragma GCC unroll 16\n{0}  for (int p = 0; p < COUNT; ++p)\n#pragma GCC unroll 4\n{0}    for (int v = 0; v < "
        "NV; ++v) sum[p][v] = vfma(splat({2}), w[v], sum[p][v]);\n{0}  continue;\n{0}}}",
        indent, condition, pad);
  }

  channel_plan channels_;
  channel_schedule schedule_;
  program inside_, checked_;  ///< guards along the line left out; kept
  std::vector<guard> once_;   ///< guards of what slides that hold for a whole line
  std::vector<int> lines_;    ///< outer variables but the channels
};

}  // namespace

emitted_group emit_channels(const window_plan& plan, const channel_plan& channels, const channel_schedule& schedule,
                            const fusion_group& group, const std::string& decisions) {
  return channels_emitter(plan, channels, schedule, group, decisions).run();
}

}  // namespace kernsmith::agents::nest
