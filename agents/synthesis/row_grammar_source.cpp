#include "agents/synthesis/row_grammar_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/prelude.hpp"
#include "agents/synthesis/row_grammar_body.hpp"
#include "agents/synthesis/row_grammar_range.hpp"
#include "agents/synthesis/row_grammar_reduce.hpp"
#include "agents/synthesis/row_grammar_support.hpp"

namespace kernsmith::agents::row {
namespace {

// Work below which threads that share a row cost more than they bring, in swept elements.
constexpr int team_minimum = 16384;
// Outputs that take this part of the last-level cache (1 / it) push out what was read, and are themselves out before they are read.
constexpr int streamed_share = 4;

class source_writer {
 public:
  source_writer(const row_program& p, const plan& chosen, const machine_model& machine)
      : p_(p), plan_(chosen), machine_(machine), body_(p, chosen), write_(p, chosen) {
    inner_ = plan_.where == lanes::inner;
    streams_ = plan_.how != stores::cached && can_stream(p, chosen);
    fixed_ = plan_.fixed > 0 ? write_.axis_name(p_.classes[static_cast<std::size_t>(plan_.fixed_class)].size.axes[0]) : std::string();
  }

  emitted_group write() {
    const std::string code = inner_ ? body_.row() : body_.strip();
    if (plan_.behind) deferred_ = body_.deferred();
    collect_parameters(code + deferred_.code);
    std::string functions = piece_function(code) + "\n" + loop_function() + "\n" + entry_function();
    emitted_group group;
    group.preludes = support_preludes(p_.wide);
    for (const std::string& piece : body_.preludes()) group.preludes.insert(piece);
    const std::string space = emitted_name(p_.name) + "_group";
    group.functions =
        fmt::format("namespace {} {{\n\n{}\n{}\n}}  // namespace {}\n", space, support_text(functions, p_.wide), functions, space);
    group.call = fmt::format("if (!{}::compute({}, ctx->threads)) return 1;\n", space, launch_arguments());
    for (const row_statement& s : p_.statements)
      if (s.stored && p_.tensor(s.tensor).role == tensor_role::intermediate) group.stored.push_back(s.tensor);
    return group;
  }

 private:
  struct parameter {
    std::string type;  ///< with trailing space or " __restrict "
    std::string name;
    std::string outside;  ///< its name in launch()
  };

  void collect_parameters(const std::string& code) {
    std::vector<int> read, written;
    for (const row_statement& s : p_.statements) {
      for (const expression& e : s.nodes)
        if (e.kind == expression_kind::load && p_.written_by(e.symbol) < 0 && std::find(read.begin(), read.end(), e.symbol) == read.end())
          read.push_back(e.symbol);
      if (s.stored) written.push_back(s.tensor);
    }
    const auto name = [&](int tensor) { return write_.tensor_name(tensor); };
    for (const int t : read)
      parameters_.push_back({fmt::format("const {}* __restrict ", storage_type(p_.tensor(t).type)), name(t), p_.tensor(t).name});
    for (const int t : written)
      parameters_.push_back({fmt::format("{}* __restrict ", storage_type(p_.tensor(t).type)), name(t), p_.tensor(t).name});
    std::string everywhere = code + loop_extents();
    for (std::size_t a = 0; a < p_.ir->axes.size(); ++a) {
      const std::string local = write_.axis_name(static_cast<int>(a));
      if (mentions_word(everywhere, local)) parameters_.push_back({"int64_t ", local, p_.ir->axes[a].name});
    }
  }

  /// Every extent that the loops outside the body mention.
  std::string loop_extents() const {
    std::string text;
    for (const index_class& c : p_.classes)
      if (c.alive) text += " " + write_.extent_text(c.size);
    return text;
  }

  /// Parameters of the functions inside; `compute` makes the borders itself.
  std::string declared(bool outermost = false) const {
    std::string text;
    if (p_.search && !outermost) text = "const border_tree& borders";
    for (const parameter& one : parameters_)
      text += (text.empty() ? "" : ", ") + one.type + one.name + (one.name == fixed_ ? "_given" : "");
    return text;
  }
  std::string arguments() const {
    std::string text;
    if (p_.search) text = "borders";
    for (const parameter& one : parameters_) text += (text.empty() ? "" : ", ") + one.name;
    return text;
  }

  std::string launch_arguments() const {
    std::string text;
    for (const parameter& one : parameters_) text += (text.empty() ? "" : ", ") + one.outside;
    return text;
  }

  std::string fix_line() const {
    if (fixed_.empty()) return "";
    return fmt::format("  const int64_t {0} = kFixed > 0 ? kFixed : {0}_given;\n", fixed_);
  }
  /// Template parameters shared by all functions, e.g. "bool kStream, int kFixed".
  std::string shared_template(bool values) const {
    std::string text;
    if (streams_) text = values ? "kStream" : "bool kStream";
    if (!fixed_.empty()) text += std::string(text.empty() ? "" : ", ") + (values ? "kFixed" : "int kFixed");
    return text;
  }

  std::vector<int> rows() const {
    std::vector<int> outer = p_.parallel;
    if (!inner_) std::erase(outer, plan_.lane);
    return outer;
  }
  std::string product(const std::vector<int>& classes) const {
    std::string text;
    for (const int c : classes) text += (text.empty() ? "" : " * ") + write_.class_extent(c);
    return text.empty() ? "1" : text;
  }

  std::string decode() const {
    const std::vector<int> outer = rows();
    std::string text;
    for (std::size_t i = 0; i < outer.size(); ++i) {
      std::vector<int> below(outer.begin() + static_cast<std::ptrdiff_t>(i) + 1, outer.end());
      std::string value = below.empty() ? "row_number" : fmt::format("row_number / ({})", product(below));
      if (i > 0) value += fmt::format(" % ({})", write_.class_extent(outer[i]));
      text += fmt::format("  [[maybe_unused]] const int64_t {} = {};\n", write_.class_name(outer[i]), value);
    }
    return text;
  }

  /// The function calls itself again with kExact set.
  std::string with_restart(std::string code) const {
    const std::string values = shared_template(true), more = values.empty() ? "" : values + ", ";
    const std::string call = inner_ ? fmt::format("row<{}true>({}, row_number, crew{})", more, arguments(), waiting_argument())
                                    : fmt::format("strip<V, kFull, {}true>({}, row_number, first, count, crew)", more, arguments());
    if (const std::size_t at = code.find(restart_call); at != std::string::npos) code.replace(at, std::string(restart_call).size(), call);
    if (const std::size_t at = code.find(deferred_call); at != std::string::npos)
      code.replace(at, std::string(deferred_call).size(), last_sweep_call());
    return code;
  }

  std::string waiting_argument() const { return plan_.behind ? ", waiting" : ""; }
  std::string last_sweep_call() const {
    const std::string values = shared_template(true);
    return fmt::format("last_sweep{}({}, waiting)", values.empty() ? "" : "<" + values + ">", arguments());
  }

  /// What a row leaves behind for its last sweep, that sweep as a function object, and the end of the last row.
  std::string waiting_functions() const {
    std::string text = "// A row whose last sweep is still to come: it runs beside a sweep of the next row.\nstruct waiting_row {\n";
    text += "  bool waits = false;\n  int turn = 0;  // half of the row buffers\n  int64_t row_number = 0;\n";
    for (const auto& [type, name] : deferred_.values) text += fmt::format("  {} {} = {{}};\n", type, name);
    const std::string shared = shared_template(false), head = shared.empty() ? "" : fmt::format("template <{}>\n", shared);
    text += fmt::format("}};\n{}inline auto last_sweep({}, const waiting_row& waiting) {{\n", head, declared());
    text += fix_line() + "  [[maybe_unused]] const int64_t row_number = waiting.row_number;\n" + decode();
    for (const auto& [type, name] : deferred_.values) text += fmt::format("  const auto {0} = waiting.{0};\n", name);
    text += deferred_.code + "}\n";
    text += fmt::format("{}inline void finish_row({}, [[maybe_unused]] team& crew, const waiting_row& waiting) {{\n", head, declared());
    text += fix_line() + "  if (!waiting.waits) return;\n";
    text += fmt::format("  const range part = share(crew, {}, W);\n", deferred_.extent);
    text += fmt::format("  each_vector<{}>(part.begin, part.end, {});\n}}\n", plan_.unroll, last_sweep_call());
    return text;
  }

  std::string piece_function(const std::string& code) {
    std::string text;
    const std::string shared = shared_template(false);
    if (inner_) {
      if (plan_.behind) text += waiting_functions();
      text += plan_.behind ? "// One row but for its last sweep, and the last sweep of the row before.\n" : "// One row.\n";
      const std::string exact = plan_.late_nan ? "bool kExact = false" : "";
      const std::string both = shared + (shared.empty() || exact.empty() ? "" : ", ") + exact;
      if (!both.empty()) text += fmt::format("template <{}>\n", both);
      text += fmt::format("inline void row({}, [[maybe_unused]] int64_t row_number, [[maybe_unused]] team& crew{}) {{\n", declared(),
                          plan_.behind ? ", waiting_row& waiting" : "");
      text += fix_line();
      text += fmt::format("  [[maybe_unused]] constexpr int U = {};  // vectors per step\n", plan_.unroll);
    } else {
      if (plan_.block > 0) {
        text += "// What a strip has taken in so far.\ntemplate <int V>\nstruct strip_state {\n";
        for (const auto& [type, name] : body_.strip_state()) text += fmt::format("  {} {}[V];\n", type, name);
        if (teams_allowed()) {
          text += "  // What another thread has taken in.\n  void take(const strip_state& other) {\n    for (int v = 0; v < V; ++v) {\n";
          for (const std::string& merge : body_.strip_merges()) text += "      " + merge + "\n";
          text += "    }\n  }\n";
        }
        text += "};\n\n";
      }
      text += "// V vectors of neighbouring rows; the last one may have fewer than W lanes.\n";
      text += fmt::format("template <int V, bool kFull{}{}{}>\n", shared.empty() ? "" : ", ", shared,
                          plan_.log_product ? ", bool kExact = false" : "");
      text += fmt::format(
          "inline void strip({}, [[maybe_unused]] int64_t row_number, int64_t first, int count, {}[[maybe_unused]] team& crew) {{\n",
          declared(),
          plan_.block <= 0 ? ""
          : plan_.apart    ? "range part, int64_t step, bool starts, [[maybe_unused]] bool adds_up, bool ends, strip_state<V>& state, "
                           : "range part, bool starts, [[maybe_unused]] bool adds_up, bool ends, strip_state<V>& state, ");
      text += fix_line();
      text += "  [[maybe_unused]] const int lanes = kFull ? W : count;\n";
    }
    return text + decode() + with_restart(code) + "}\n";
  }

  bool teams_allowed() const {
    for (const sweep& w : plan_.sweeps)
      for (const int i : w.sinks) {
        const row_statement& s = p_.statements[static_cast<std::size_t>(i)];
        if (s.kind == role::scan || (!inner_ && is_position(s.reducer))) return false;
      }
    return !plan_.sweeps.empty();
  }

  std::string loop_function() {
    std::string text;
    const std::string shared = shared_template(false);
    if (!shared.empty()) text += fmt::format("template <{}>\n", shared);
    text += fmt::format("void run({}, int threads) {{\n", declared());
    text += fix_line();
    text += inner_ ? inner_loops() : across_loops();
    return text + "}\n";
  }

  std::string team_start() const {
    return "    char* const slots = static_cast<char*>(std::aligned_alloc(64, size_t(2 * threads) * slot_bytes));\n"
           "    if (slots == nullptr) std::abort();\n"
           "#pragma omp parallel num_threads(threads)\n"
           "    {\n"
           "      team crew{omp_get_thread_num(), omp_get_num_threads(), slots};\n";
  }
  std::string fence(const char* indent) const { return streams_ ? fmt::format("{}if (kStream) _mm_sfence();\n", indent) : ""; }

  std::string inner_loops() const {
    const std::string values = shared_template(true);
    const std::string call =
        fmt::format("row{}({}, row_number, crew{});\n", values.empty() ? (plan_.late_nan ? "<>" : "") : "<" + values + ">", arguments(),
                    waiting_argument());
    const auto finish = [&](const char* indent) {
      return plan_.behind
                 ? fmt::format("{}finish_row{}({}, crew, waiting);\n", indent, values.empty() ? "" : "<" + values + ">", arguments())
                 : std::string();
    };
    std::string text = fmt::format("  const int64_t rows = {};\n", product(rows()));
    if (teams_allowed()) {
      text += fmt::format("  if (threads > 1 && rows < 2 * threads && {} >= {}) {{  // few long rows: all threads share each\n",
                          product(plan_.sweeps.front().over), team_minimum);
      text += team_start();
      if (plan_.behind) text += "      waiting_row waiting;\n";
      text += "      for (int64_t row_number = 0; row_number < rows; ++row_number) " + call + finish("      ") + fence("      ") +
              "    }\n    std::free(slots);\n    return;\n  }\n";
    }
    const std::string schedule = plan_.chunk > 0 ? fmt::format("schedule(static, {})", plan_.chunk) : std::string("schedule(static)");
    text += "#pragma omp parallel num_threads(threads)\n  {\n    team crew;\n";
    if (plan_.behind) text += "    waiting_row waiting;\n";
    text += fmt::format("#pragma omp for {}{}\n", schedule, plan_.behind ? " nowait" : "");
    text += "    for (int64_t row_number = 0; row_number < rows; ++row_number) " + call;
    return text + finish("    ") + fence("    ") + "  }\n";
  }

  std::string strip_call(const char* vectors, const char* full, const char* first, const char* count, const std::string& more) const {
    const std::string values = shared_template(true);
    return fmt::format("strip<{}, {}{}{}>({}, row_number, {}, {}, {}crew);\n", vectors, full, values.empty() ? "" : ", ", values,
                       arguments(), first, count, more);
  }

  std::string plain_task() const {
    std::string text = "    int64_t i = begin;\n";
    text += "    for (; i + V * W <= end; i += V * W) " + strip_call("V", "true", "i", "W", "");
    if (plan_.unroll > 1) text += "    for (; i + W <= end; i += W) " + strip_call("1", "true", "i", "W", "");
    return text + "    if (i < end) " + strip_call("1", "false", "i", "int(end - i)", "");
  }

  /// All strips take in a block of the sweep before any goes on: memory is read in long runs.
  std::string blocked_task() const {
    const std::string swept = write_.class_extent(plan_.sweeps.front().over.front());
    const std::string whole = teams_allowed() ? fmt::format("share(crew, {}, 1)", swept) : fmt::format("range{{0, {}}}", swept);
    std::string text =
        fmt::format("    constexpr int64_t block = {};  // swept elements that all strips take in before the next ones\n", plan_.block);
    text += "    strip_state<V>* const states = row_buffer<65, strip_state<V>>((end - begin) / (V * W) + V + 1);\n";
    text += fmt::format("    const range swept = {};\n", whole);
    if (plan_.apart) {
      text += "    // Each element of a block starts from its own part of the sweep; what is left over is the last block.\n";
      text += "    const int64_t step = (swept.end - swept.begin) / block, rest = swept.begin + step * block;\n";
      text += "    const int64_t blocks = step + (step == 0 || rest < swept.end);\n";
    } else {
      text += "    const int64_t blocks = std::max<int64_t>(1, (swept.end - swept.begin + block - 1) / block);\n";
    }
    text += "    for (int64_t number = 0; number < blocks; ++number) {\n";
    if (plan_.apart) {
      text += "      const range part = number < step ? range{swept.begin + number, rest} : range{rest, swept.end};\n";
    } else {
      text += "      const int64_t at = swept.begin + number * block;\n";
      text += "      const range part = {at, std::min(swept.end, at + block)};\n";
    }
    const bool teams = teams_allowed();
    text += fmt::format("      const bool starts = number == 0, ends = number + 1 == blocks{};\n", teams ? " && crew.size == 1" : "");
    text += fmt::format("      const bool adds_up = number + 1 == blocks || (number + 1) % {} == 0;  // partial sums to totals\n",
                        across_block / plan_.block);
    text += "      strip_state<V>* state = states;\n      int64_t i = begin;\n";
    const std::string step = plan_.apart ? "number < step ? step : 1, " : "";
    const auto more = [&](const std::string& state) { return "part, " + step + "starts, adds_up, ends, " + state + ", "; };
    const std::string one = plan_.unroll > 1 ? "reinterpret_cast<strip_state<1>&>(*state++)" : "*state++";
    text += "      for (; i + V * W <= end; i += V * W) " + strip_call("V", "true", "i", "W", more("*state++"));
    if (plan_.unroll > 1) text += "      for (; i + W <= end; i += W) " + strip_call("1", "true", "i", "W", more(one));
    text += "      if (i < end) " + strip_call("1", "false", "i", "int(end - i)", more(one)) + "    }\n";
    return teams ? text + team_finish() : text;
  }

  /// After the blocks of a team: every thread finishes some of the strips with what all threads have taken in.
  std::string team_finish() const {
    std::string text = "    if (crew.size == 1) return;\n";
    text += "    std::memcpy(crew.slots + crew.rank * slot_bytes, &states, sizeof states);\n#pragma omp barrier\n";
    text += "    int64_t which = 0, i = begin;\n    team alone;\n";
    text += "    const auto mine = [&] { return which % crew.size == crew.rank; };\n";
    text += "    const auto merged = [&](auto& state) -> auto& {\n      for (int rank = 0; rank < crew.size; ++rank) {\n";
    text += "        if (rank == crew.rank) continue;\n        strip_state<V>* others;\n";
    text += "        std::memcpy(&others, crew.slots + rank * slot_bytes, sizeof others);\n";
    text += "        state.take(reinterpret_cast<std::remove_reference_t<decltype(state)>&>(others[which]));\n      }\n";
    text += "      return state;\n    };\n";
    const auto finish = [&](const char* vectors, const char* full, const char* count) {
      const std::string state = std::string_view(vectors) == "V" ? "states[which]" : "reinterpret_cast<strip_state<1>&>(states[which])";
      std::string call = strip_call(vectors, full, "i", count,
                                    fmt::format("range{{0, 0}}, {}false, true, true, merged({}), ", plan_.apart ? "1, " : "", state));
      return call.replace(call.rfind("crew"), 4, "alone");
    };
    text += "    for (; i + V * W <= end; i += V * W, ++which)\n      if (mine()) " + finish("V", "true", "W");
    if (plan_.unroll > 1) text += "    for (; i + W <= end; i += W, ++which)\n      if (mine()) " + finish("1", "true", "W");
    return text + "    if (i < end && mine()) " + finish("1", "false", "int(end - i)") + "#pragma omp barrier\n";
  }

  std::string across_loops() const {
    const std::string extent = write_.class_extent(plan_.lane);
    std::string text = fmt::format("  constexpr int V = {};  // vectors per strip\n", plan_.unroll);
    text += fmt::format("  const int64_t rows = {}, extent = {};\n", product(rows()), extent);
    text += "  // Lanes per task: whole strips, and enough tasks for all threads.\n";
    text += fmt::format("  const int64_t share_of_lanes = std::min<int64_t>({}, (extent * rows + threads - 1) / threads);\n", plan_.span);
    text += "  const int64_t span = (share_of_lanes + V * W - 1) / (V * W) * (V * W);\n";
    text += "  const int64_t spans = (extent + span - 1) / span;\n";
    text += "  const auto task = [&](int64_t row_number, int64_t begin, int64_t end, team& crew) {\n";
    text += plan_.block > 0 ? blocked_task() : plain_task();
    text += "  };\n";
    if (teams_allowed()) {
      const std::string fits = plan_.split_rows ? fmt::format("(rows * spans < threads || (rows < threads && extent <= {}))", plan_.span)
                                                : std::string("rows * spans < threads");
      text += fmt::format("  if (threads > 1 && {} && {} >= {}) {{  // few strips: all threads share each\n", fits,
                          product(plan_.sweeps.front().over), team_minimum / 16);
      text += team_start();
      text += "      for (int64_t row_number = 0; row_number < rows; ++row_number) task(row_number, 0, extent, crew);\n";
      text += fence("      ") + "    }\n    std::free(slots);\n    return;\n  }\n";
    }
    text += "#pragma omp parallel num_threads(threads)\n  {\n    team crew;\n#pragma omp for schedule(static)\n";
    text += "    for (int64_t piece = 0; piece < rows * spans; ++piece) {\n";
    text += "      const int64_t begin = piece % spans * span;\n";
    text += "      task(piece / spans, begin, std::min(extent, begin + span), crew);\n    }\n";
    return text + fence("    ") + "  }\n";
  }

  /// Decisions in words, above the entry function.
  std::string decisions() const {
    std::string text;
    for (const row_statement& s : p_.statements) {
      std::string one = s.text;
      std::replace(one.begin(), one.end(), '\n', ' ');
      text += "//   " + one + "\n";
    }
    text += fmt::format("// Lanes lie {}; {} vectors at a time, {} lanes each in {}.\n",
                        inner_ ? "along the swept index" : "across rows, along " + write_.class_name(plan_.lane), plan_.unroll, "W",
                        p_.wide ? "double and int64" : "float and int32");
    std::string kept;
    for (const sweep& w : plan_.sweeps)
      for (const int i : w.to_buffer)
        kept += (kept.empty() ? "" : ", ") + p_.tensor(p_.statements[static_cast<std::size_t>(i)].tensor).name;
    if (!kept.empty()) text += fmt::format("// Kept in a row buffer between sweeps: {}.\n", kept);
    if (streams_)
      text += plan_.how == stores::streaming
                  ? "// Outputs are stored past the caches where they are aligned.\n"
                  : "// Outputs that take a quarter of the last-level cache or more are stored past the caches.\n";
    if (plan_.log_product)
      text += "// Products of powers are exponentials of sums of logarithms; strips out of their range are computed again by powers.\n";
    if (plan_.next_row) text += "// A sweep asks for the next row's inputs.\n";
    if (plan_.behind) text += "// The last sweep of a row runs beside a sweep of the next one.\n";
    if (plan_.late_nan) text += "// The maximum overlooks NaN; rows whose sum is NaN are computed again exactly.\n";
    if (plan_.block > 0)
      text += fmt::format("// All strips of a task take in {} swept elements{} before any takes in more.\n", plan_.block,
                          plan_.apart ? " that lie apart" : "");
    if (p_.search) text += "// Borders are sorted once and searched; right for borders in any order.\n";
    if (plan_.prefetch > 0) text += fmt::format("// Rows of later steps are fetched {} steps ahead.\n", plan_.prefetch);
    if (!fixed_.empty()) text += fmt::format("// A copy is specialised for {} = {}.\n", fixed_, plan_.fixed);
    return text;
  }

  std::string stream_condition() const {
    std::string bytes, aligned;
    for (const row_statement& s : p_.statements) {
      if (!streamable(p_, plan_, s)) continue;
      const std::vector<extent>& shape = p_.shape(s.tensor);
      std::string size;
      for (const extent& e : shape) size += (size.empty() ? "" : " * ") + write_.extent_text(e);
      bytes += (bytes.empty() ? "" : " + ") + size + fmt::format(" * {}", p_.wide ? 8 : 4);
      aligned += fmt::format(" && reinterpret_cast<uintptr_t>({}) % 64 == 0", write_.tensor_name(s.tensor));
      std::string rows_of_vectors = fmt::format("{} % W == 0", write_.extent_text(shape.back()));
      if (shape.size() > 1) aligned += " && " + rows_of_vectors;
    }
    if (plan_.how == stores::streaming) return aligned.substr(4);
    return fmt::format("{} >= {}{}", bytes, machine_.l3_bytes / streamed_share, aligned);
  }

  std::string entry_function() const {
    std::string text = "// Computes\n" + decisions();
    std::string plain = declared(true);
    if (!fixed_.empty()) plain.replace(plain.find(fixed_ + "_given"), fixed_.size() + 6, fixed_);
    text += fmt::format("bool compute({}, int threads) {{\n", plain);
    if (!p_.wide && numbers_indices(p_)) {
      std::string limit;
      for (const index_class& c : p_.classes)
        if (c.alive) limit += (limit.empty() ? "" : " || ") + fmt::format("{} > INT32_MAX", write_.extent_text(c.size));
      text += fmt::format("  if ({}) return false;  // beyond int32 index lanes\n", limit);
    }
    if (p_.search)
      text += fmt::format("  const border_tree borders({}, {});\n", write_.tensor_name(p_.search->borders),
                          write_.class_extent(p_.search->count_class));
    const auto run = [&](const std::string& stream, const std::string& fixed) {
      std::string values = stream;
      if (!fixed.empty()) values += (values.empty() ? "" : ", ") + fixed;
      return fmt::format("run{}({}, threads);", values.empty() ? "" : "<" + values + ">", arguments());
    };
    const auto run_fixed = [&](const std::string& stream, const char* indent) {
      if (fixed_.empty()) return indent + run(stream, "") + "\n";
      return fmt::format("{0}if ({1} == {2})\n{0}  {3}\n{0}else\n{0}  {4}\n", indent, fixed_, plan_.fixed,
                         run(stream, fmt::format("{}", plan_.fixed)), run(stream, "0"));
    };
    if (streams_) {
      text += fmt::format("  const bool past_caches = {};\n", stream_condition());
      text += "  if (past_caches) {\n" + run_fixed("true", "    ") + "  } else {\n" + run_fixed("false", "    ") + "  }\n";
    } else {
      text += run_fixed("", "  ");
    }
    return text + "  return true;\n}\n";
  }

  const row_program& p_;
  const plan& plan_;
  const machine_model& machine_;
  body_writer body_;
  expression_writer write_;
  std::vector<parameter> parameters_;
  deferred_sweep deferred_;
  bool inner_ = true;
  bool streams_ = false;
  std::string fixed_;  ///< emitted name of the axis that is specialised
};

}  // namespace

bool can_stream(const row_program& p, const plan& chosen) {
  plan streaming = chosen;
  streaming.how = stores::streaming;
  return std::any_of(p.statements.begin(), p.statements.end(), [&](const row_statement& s) { return streamable(p, streaming, s); });
}

emitted_group emit_source(const row_program& p, const plan& chosen, const machine_model& machine) {
  return source_writer(p, chosen, machine).write();
}

}  // namespace kernsmith::agents::row
