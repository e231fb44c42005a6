// Threads across rows: each takes a pack of neighbouring rows and computes them whole. Without a sweep that is a map; sweeps are loops in
// the thread, shared by slices of the block and by blocks where there are too few rows.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/simt/row_simt.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"
#include "agents/synthesis/simt/simt_sinks.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents::simt {
namespace {

class across_writer {
 public:
  across_writer(const simt_program& p, const across_choice& choice, int lane)
      : p_(p), choice_(choice), lane_(lane), plan_(row::schedule(p.rows, row::plan_with(row::lanes::across))), name_(p.rows.name) {
    extent_ = p.class_extent(lane);
    for (const int c : p.rows.parallel)
      if (c != lane) others_.push_back(c);
  }

  row_code run() {
    row_code made;
    if (plan_.sweeps.empty()) {
      map_kernel();
      map_launcher();
    } else {
      made.reduces = true;
      splits_ = choice_.splits > 1 && can_split(p_, plan_) ? choice_.splits : 1;
      column_kernel();
      if (splits_ > 1) {
        finish_kernel();
        made.scratch_bytes = fmt::format("({} + {}) * {} * {}", p_.product(p_.rows.parallel), choice_.vector, splits_, scratch_stride());
      }
      column_launcher();
    }
    made.functions = out_.text();
    return made;
  }

 private:
  struct pack {
    std::string name, element;
    dtype type = dtype::f32;
  };

  std::string pack_type(dtype type) const { return fmt::format("ks_pack<{}, kVector>", simt_storage_type(type)); }
  const char* stream_loads() const { return choice_.stream_loads ? "true" : "false"; }
  const char* stream_stores() const { return choice_.stream_stores ? "true" : "false"; }

  /// Packed loads of the statements, each element text once.
  std::vector<pack> packs_of(const lane_code& code, const std::vector<int>& statements, const std::set<std::string>& known) const {
    std::vector<pack> found;
    std::set<std::string> names;
    for (const int i : statements)
      for (std::size_t n = 0; n < p_.at(i).nodes.size(); ++n) {
        const int node = static_cast<int>(n);
        if (!is_packed(p_, i, node, lane_)) continue;
        const std::string element = code.element(i, node);
        if (known.contains(element) || std::any_of(found.begin(), found.end(), [&](const pack& k) { return k.element == element; }))
          continue;
        const int tensor = p_.at(i).nodes[n].symbol;
        std::string name = p_.stem(tensor) + "_in";
        for (int number = 2; !names.insert(name).second; ++number) name = fmt::format("{}_in{}", p_.stem(tensor), number);
        found.push_back({name, element, p_.tensor(tensor).type});
      }
    return found;
  }

  void bind(lane_code& code, const std::vector<int>& statements, const std::vector<pack>& packs, const std::string& index) const {
    for (const int i : statements)
      for (std::size_t n = 0; n < p_.at(i).nodes.size(); ++n) {
        if (!is_packed(p_, i, static_cast<int>(n), lane_)) continue;
        const std::string element = code.element(i, static_cast<int>(n));
        for (const pack& k : packs)
          if (k.element == element) code.have(i, static_cast<int>(n), k.name + index + ".at[l]");
      }
  }

  std::string row_name(int i) const { return p_.stem(p_.at(i).tensor) + "_row"; }
  std::string out_name(int i) const { return p_.stem(p_.at(i).tensor) + "_out"; }
  std::string part_name(int i) const { return p_.stem(p_.at(i).tensor) + "_part"; }
  std::string map_name(int i) const { return p_.stem(p_.at(i).tensor) + "_value"; }

  void comment() {
    for (int i = 0; i < p_.count(); ++i) out_.line("//   " + p_.at(i).text);
  }

  /// From the number of a pack to its first row: `first` along the lane index, the other indices by name.
  void unpack(const std::string& number) {
    out_.line(fmt::format("const ks_ix first = {} * kVector;", others_.empty() ? number : number + " % packs"));
    if (others_.empty()) return;
    out_.line(fmt::format("const ks_ix rest = {} / packs;", number));
    for (const std::string& line : unpack_classes(p_, others_, "rest")) out_.line("[[maybe_unused]] " + line);
  }

  /// Packs are whole unless the lane index is the only one and its extent no multiple of the pack.
  void count_packs() {
    out_.line(fmt::format("const ks_ix packs = ({} + kVector - 1) / kVector;", extent_));
    out_.line(fmt::format("const ks_ix count = packs{};", others_.empty() ? "" : " * (" + p_.product(others_) + ")"));
  }

  // ---- maps ----

  void map_kernel() {
    lane_code code(p_);
    std::vector<int> all = all_statements(p_);
    out_.line("// Every element on its own: a thread takes kItems packs of kVector neighbours at a time.");
    comment();
    out_.line("template <class ks_ix, int kVector, int kEdge>");
    out_.open(fmt::format("__global__ void __launch_bounds__({}) {}_map_kernel({})", choice_.threads, name_,
                          parameter_text(p_.flat, kernel_parameters(p_), all, "ks_ix")));
    out_.line(fmt::format("constexpr int kThreads = {}, kItems = {};", choice_.threads, choice_.items));
    count_packs();
    out_.line("const ks_ix stride = ks_ix(gridDim.x) * (kThreads * kItems);");
    out_.open("for (ks_ix start = ks_ix(blockIdx.x) * (kThreads * kItems) + threadIdx.x; start < count; start += stride)");
    const std::vector<pack> packs = packs_of(code, all, {});
    for (const pack& k : packs) out_.line(fmt::format("{} {}[kItems];", pack_type(k.type), k.name));
    if (!packs.empty()) {
      open_items();
      out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first;", p_.class_name(lane_)));
      for (const pack& k : packs)
        out_.line(
            fmt::format("{}[item] = ks_fetch<kVector, kEdge, {}>(&{}, first, ks_ix({}));", k.name, stream_loads(), k.element, extent_));
      out_.close();
    }
    open_items();
    bind(code, all, packs, "[item]");
    declare_outputs();
    open_lanes();
    for (const int i : all) {
      define(code, i, row_name(i));
      if (p_.at(i).stored) put_lane(code, i, row_name(i));
    }
    out_.close();
    store_outputs(code);
    out_.close();
    out_.close();
    out_.close();
    out_.line("");
  }

  void open_items() {
    out_.line("#pragma unroll");
    out_.open("for (int item = 0; item < kItems; ++item)");
    out_.line("const ks_ix at = start + item * kThreads;");
    out_.line("if (at >= count) break;");
    unpack("at");
  }

  void open_lanes() {
    const std::string n = p_.class_name(lane_);
    out_.line("#pragma unroll");
    out_.open("for (int l = 0; l < kVector; ++l)");
    out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first + l;", n));
    out_.line(fmt::format("if (kEdge == ks_any && {} >= {}) continue;", n, extent_));
  }

  void define(lane_code& code, int i, const std::string& name) {
    const row::row_statement& s = p_.at(i);
    out_.line(
        fmt::format("[[maybe_unused]] const {} {} = {};", code.seen_type(i), name, code.seen(i, code.value(i, s.value, s.type), s.type)));
    code.know(i, name);
  }

  void declare_outputs() {
    for (int i = 0; i < p_.count(); ++i)
      if (packed_output(i)) out_.line(fmt::format("{} {} = {{}};", pack_type(p_.tensor(p_.at(i).tensor).type), out_name(i)));
  }

  /// Written once per row, by whole packs.
  bool packed_output(int i) const {
    const row::row_statement& s = p_.at(i);
    return s.stored && (s.kind == row::role::point || s.kind == row::role::reduce) && is_packed_target(p_, i, lane_);
  }

  void put_lane(const lane_code& code, int i, const std::string& value) {
    const std::string element = code.stored(i, value, class_of(p_.tensor(p_.at(i).tensor).type));
    if (packed_output(i))
      out_.line(fmt::format("{}.at[l] = {};", out_name(i), element));
    else
      out_.line(fmt::format("{} = {};", code.target_element(i), element));
  }

  void store_outputs(const lane_code& code) {
    bool any = false;
    for (int i = 0; i < p_.count(); ++i) any = any || packed_output(i);
    if (!any) return;
    out_.open_scope();
    out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first;", p_.class_name(lane_)));
    for (int i = 0; i < p_.count(); ++i)
      if (packed_output(i))
        out_.line(fmt::format("ks_put<kVector, kEdge, {}>(&{}, {}, first, ks_ix({}));", stream_stores(), code.target_element(i),
                              out_name(i), extent_));
    out_.close();
  }

  std::string arguments() const { return argument_text(p_.flat, kernel_parameters(p_)); }

  void open_launcher(bool scratch) {
    out_.open(fmt::format("static int {}_launch({}, {}cudaStream_t ks_stream)", name_,
                          parameter_text(p_.flat, host_parameters(p_), all_statements(p_), "int64_t"),
                          scratch ? "void* ks_scratch, " : ""));
    for (const std::string& line : derive_axes(p_)) out_.line(line);
    out_.line(fmt::format("const bool fits = {};", fits_narrow(p_.flat, all_statements(p_))));
  }

  /// Calls start(index type, vector, edge) in the right case, for all axes.
  template <class Start>
  void choose(const Start& start) {
    const std::string narrow = typically_narrow(p_) ? "int32_t" : "int64_t";
    const std::string fits = typically_narrow(p_) ? "fits && " : "";
    if (choice_.vector > 1) {
      out_.line(fmt::format("if ({}{} % {} == 0) return {};", fits, extent_, choice_.vector, start(narrow, choice_.vector, "ks_full")));
      if (others_.empty()) {
        out_.line(fmt::format("return {};", start("int64_t", choice_.vector, "ks_any")));
        return;
      }
    } else if (narrow == "int32_t") {
      out_.line(fmt::format("if (fits) return {};", start("int32_t", 1, "ks_full")));
    }
    out_.line(fmt::format("return {};", start("int64_t", 1, "ks_full")));
  }

  void map_launcher() {
    open_launcher(false);
    choose([&](const std::string& index, std::int64_t vector, const std::string& edge) {
      return fmt::format(
          "ks_start({}_map_kernel<{}, {}, {}>, dim3(unsigned(ks_blocks({}, {}, {} * int64_t(ks_multiprocessors())))), dim3({}), 0, "
          "ks_stream, {})",
          name_, index, vector, edge,
          fmt::format("({0} + {1} - 1) / {1}{2}", extent_, vector, others_.empty() ? "" : " * (" + p_.product(others_) + ")"),
          choice_.threads * choice_.items, blocks_per_multiprocessor(), choice_.threads, arguments());
    });
    out_.close();
  }

  /// Many short blocks balance better than few long ones; the bound only keeps the grid in range of the hardware's queue.
  static std::int64_t blocks_per_multiprocessor() { return 4096; }

  // ---- reductions in the thread ----

  std::int64_t width() const { return choice_.threads / choice_.slices; }

  void column_kernel() {
    lane_code code(p_);
    out_.line(fmt::format("// {} packs of neighbouring rows for each block; {} threads share the sweep of each.", width(), choice_.slices));
    comment();
    out_.line("template <class ks_ix, int kVector, int kEdge>");
    out_.open(fmt::format("__global__ void __launch_bounds__({}) {}_column_kernel({}{})", choice_.threads, name_,
                          parameter_text(p_.flat, kernel_parameters(p_), all_statements(p_), "ks_ix"),
                          splits_ > 1 ? ", unsigned char* ks_scratch" : ""));
    out_.line(fmt::format("constexpr int kThreads = {}, kSlices = {};", width(), choice_.slices));
    count_packs();
    out_.line("const int lane = int(threadIdx.x) % kThreads, slice = int(threadIdx.x) / kThreads;");
    out_.line("const ks_ix number = ks_ix(blockIdx.x) * kThreads + lane;");
    out_.line("const bool live = number < count;  // others go along, on pack 0, and write nothing");
    out_.line("const ks_ix at = live ? number : 0;");
    unpack("at");
    point_step(code, 0);
    for (const row::sweep& w : plan_.sweeps) {
      sweep(code, w);
      if (splits_ == 1) point_step(code, w.stage);
    }
    if (splits_ == 1) write_rows(code);
    out_.close();
    out_.line("");
  }

  bool point_here(int i, int stage) const { return p_.at(i).kind == row::role::point && plan_.stage[static_cast<std::size_t>(i)] == stage; }

  /// Values of rows that are known after a stage, one for each row of the pack.
  void point_step(lane_code& code, int stage) {
    std::vector<int> here;
    for (int i = 0; i < p_.count(); ++i)
      if (point_here(i, stage)) here.push_back(i);
    if (here.empty()) return;
    for (const int i : here) out_.line(fmt::format("{} {}[kVector] = {{}};", code.seen_type(i), row_name(i)));
    load_packs(code, here, "");
    open_lanes();
    for (const int i : here) {
      const row::row_statement& s = p_.at(i);
      out_.line(fmt::format("{}[l] = {};", row_name(i), code.seen(i, code.value(i, s.value, s.type), s.type)));
      code.know(i, row_name(i) + "[l]");
    }
    out_.close();
  }

  void load_packs(lane_code& code, const std::vector<int>& statements, const std::string& suffix) {
    std::vector<pack> packs = packs_of(code, statements, {});
    for (pack& k : packs) {
      k.name = fmt::format("{}{}", k.name, next_suffix(suffix));
      out_.line(fmt::format("{} {};", pack_type(k.type), k.name));
    }
    if (!packs.empty()) {
      out_.open_scope();
      out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first;", p_.class_name(lane_)));
      for (const pack& k : packs)
        out_.line(fmt::format("{} = ks_fetch<kVector, kEdge, {}>(&{}, first, ks_ix({}));", k.name, stream_loads(), k.element, extent_));
      out_.close();
    }
    code.forget_elements();
    bind(code, statements, packs, "");
  }

  std::string next_suffix(const std::string& suffix) {
    ++loads_;
    return suffix + (loads_ == 1 ? "" : std::to_string(loads_));
  }

  std::vector<int> statements_of(const row::sweep& w) const {
    std::set<int> all(w.needed.begin(), w.needed.end());
    all.insert(w.sinks.begin(), w.sinks.end());
    return {all.begin(), all.end()};
  }

  void sweep(lane_code& code, const row::sweep& w) {
    std::string title;
    for (const int i : w.sinks) title += (title.empty() ? "// " : "; ") + p_.at(i).text;
    out_.line(title);
    for (const int i : w.sinks)
      if (p_.at(i).kind == row::role::reduce) {
        const accumulator a = accumulator_of(p_, code, i);
        out_.line(fmt::format("{} {}[kVector];", a.type, part_name(i)));
        out_.line("#pragma unroll");
        out_.line(fmt::format("for (int l = 0; l < kVector; ++l) {}[l] = {};", part_name(i), a.initial));
      }
    for (std::size_t k = 0; k < w.over.size(); ++k) {
      const std::string c = p_.class_name(w.over[k]);
      const bool shared = k == shared_loop(w);
      if (k + 1 == w.over.size()) out_.line("#pragma unroll 4");
      const std::string from = !shared ? "0" : splits_ > 1 ? "ks_ix(blockIdx.y) * kSlices + slice" : "slice";
      const std::string step = !shared ? "1" : splits_ > 1 ? "kSlices * ks_ix(gridDim.y)" : "kSlices";
      out_.open(fmt::format("for (ks_ix {0} = {1}; {0} < {2}; {0} += {3})", c, from, p_.class_extent(w.over[k]), step));
    }
    const std::vector<int> here = statements_of(w);
    load_packs(code, here, "");
    open_lanes();
    for (const int i : here) {
      if (p_.at(i).kind == row::role::reduce) {
        for (const std::string& line : take_in(p_, code, i, part_name(i) + "[l]")) out_.line(line);
        continue;
      }
      define(code, i, map_name(i));
      if (p_.at(i).stored && std::find(w.sinks.begin(), w.sinks.end(), i) != w.sinks.end()) {
        out_.open("if (live)");
        put_lane(code, i, map_name(i));
        out_.close();
      }
    }
    for (std::size_t k = 0; k <= w.over.size(); ++k) out_.close();
    code.forget_elements();
    for (const int i : w.needed)
      if (p_.at(i).kind != row::role::reduce) code.forget(i);
    for (const int i : w.sinks)
      if (p_.at(i).kind == row::role::reduce) merge_slices(code, i);
  }

  /// The loop that slices and blocks share: the longest one.
  std::size_t shared_loop(const row::sweep& w) const {
    std::size_t best = 0;
    for (std::size_t k = 1; k < w.over.size(); ++k)
      if (p_.typical({w.over[k]}) > p_.typical({w.over[best]})) best = k;
    return best;
  }

  void merge_slices(lane_code& code, int i) {
    const accumulator a = accumulator_of(p_, code, i);
    if (choice_.slices > 1) {
      out_.open_scope();
      out_.line(fmt::format("__shared__ {} parts[kSlices][kThreads][kVector];", a.type));
      out_.line("__syncthreads();");
      out_.line("#pragma unroll");
      out_.line(fmt::format("for (int l = 0; l < kVector; ++l) parts[slice][lane][l] = {}[l];", part_name(i)));
      out_.line("__syncthreads();");
      out_.line("#pragma unroll");
      out_.open("for (int l = 0; l < kVector; ++l)");
      out_.line(fmt::format("{}[l] = parts[0][lane][l];", part_name(i)));
      out_.line("#pragma unroll");
      out_.line(fmt::format("for (int s = 1; s < kSlices; ++s) {0}[l] = {1}({0}[l], parts[s][lane][l]);", part_name(i), a.merge));
      out_.close();
      out_.close();
    }
    if (splits_ > 1) {
      out_.open("if (live && slice == 0)");
      out_.line(
          fmt::format("{0}* const part = reinterpret_cast<{0}*>(ks_scratch + {1} * size_t(gridDim.y) * count * kVector) + "
                      "(size_t(blockIdx.y) * count + at) * kVector;",
                      a.type, scratch_offset(i)));
      out_.line("#pragma unroll");
      out_.line(fmt::format("for (int l = 0; l < kVector; ++l) part[l] = {}[l];", part_name(i)));
      out_.close();
    } else {
      settle(code, i, a);
    }
  }

  void settle(lane_code& code, int i, const accumulator& a) {
    out_.line(fmt::format("{} {}[kVector];", code.seen_type(i), row_name(i)));
    out_.line("#pragma unroll");
    out_.line(fmt::format("for (int l = 0; l < kVector; ++l) {}[l] = {};", row_name(i), finished(code, i, a, part_name(i) + "[l]")));
    code.know(i, row_name(i) + "[l]");
  }

  /// Row values to memory, by the first slice.
  void write_rows(const lane_code& code) {
    bool any = false;
    for (int i = 0; i < p_.count(); ++i) any = any || (p_.at(i).stored && p_.at(i).kind != row::role::map);
    if (!any) return;
    out_.open("if (live && slice == 0)");
    declare_outputs();
    open_lanes();
    for (int i = 0; i < p_.count(); ++i)
      if (p_.at(i).stored && (p_.at(i).kind == row::role::point || p_.at(i).kind == row::role::reduce))
        put_lane(code, i, row_name(i) + "[l]");
    out_.close();
    store_outputs(code);
    out_.close();
  }

  // ---- several blocks for each sweep ----

  static constexpr std::int64_t accumulator_bytes = 16;
  /// Bytes per row and part.
  std::int64_t scratch_stride() const { return accumulator_bytes * static_cast<std::int64_t>(plan_.sweeps[0].sinks.size()); }
  std::string scratch_offset(int i) const {
    const std::vector<int>& sinks = plan_.sweeps[0].sinks;
    return fmt::format("size_t({})", accumulator_bytes * (std::find(sinks.begin(), sinks.end(), i) - sinks.begin()));
  }

  void finish_kernel() {
    lane_code code(p_);
    out_.line("// Merges the parts of each row.");
    out_.line("template <class ks_ix, int kVector, int kEdge>");
    out_.open(fmt::format("__global__ void __launch_bounds__(128) {}_finish_kernel({}, const unsigned char* ks_scratch, int ks_part_count)",
                          name_, parameter_text(p_.flat, kernel_parameters(p_), all_statements(p_), "ks_ix")));
    count_packs();
    out_.line("constexpr int slice = 0;");
    out_.line("const ks_ix number = ks_ix(blockIdx.x) * 128 + threadIdx.x;");
    out_.line("const bool live = number < count;");
    out_.line("if (!live) return;");
    out_.line("const ks_ix at = number;");
    unpack("at");
    for (const int i : plan_.sweeps[0].sinks) {
      const accumulator a = accumulator_of(p_, code, i);
      out_.line(fmt::format("{} {}[kVector];", a.type, part_name(i)));
      out_.line("#pragma unroll");
      out_.line(fmt::format("for (int l = 0; l < kVector; ++l) {}[l] = {};", part_name(i), a.initial));
      out_.line(
          fmt::format("const {0}* const {1}s = reinterpret_cast<const {0}*>(ks_scratch + {2} * size_t(ks_part_count) * count * kVector);",
                      a.type, part_name(i), scratch_offset(i)));
      out_.line("#pragma unroll 4");
      out_.open("for (int part = 0; part < ks_part_count; ++part)");
      out_.line("#pragma unroll");
      out_.line(fmt::format("for (int l = 0; l < kVector; ++l) {0}[l] = {1}({0}[l], {0}s[(size_t(part) * count + at) * kVector + l]);",
                            part_name(i), a.merge));
      out_.close();
      settle(code, i, a);
    }
    point_step(code, plan_.sweeps[0].stage);
    write_rows(code);
    out_.close();
    out_.line("");
  }

  void column_launcher() {
    open_launcher(splits_ > 1);
    const std::int64_t longest = p_.typical({plan_.sweeps[0].over[shared_loop(plan_.sweeps[0])]});
    (void)longest;
    if (splits_ > 1) {
      const std::string swept = p_.class_extent(plan_.sweeps[0].over[shared_loop(plan_.sweeps[0])]);
      out_.line(fmt::format("const int64_t wanted = (int64_t({}) + {} - 1) / {}, parts = wanted < {} ? wanted : {};", swept, choice_.slices,
                            choice_.slices, splits_, splits_));
      out_.line("unsigned char* const part = static_cast<unsigned char*>(ks_scratch);");
    }
    choose([&](const std::string& index, std::int64_t vector, const std::string& edge) {
      const std::string packs =
          fmt::format("({0} + {1} - 1) / {1}{2}", extent_, vector, others_.empty() ? "" : " * (" + p_.product(others_) + ")");
      if (splits_ == 1)
        return fmt::format("ks_start({}_column_kernel<{}, {}, {}>, dim3(unsigned(ks_blocks({}, {}))), dim3({}), 0, ks_stream, {})", name_,
                           index, vector, edge, packs, width(), choice_.threads, arguments());
      return fmt::format("{0}_both<{1}, {2}, {3}>({4}, parts, part, ks_stream, {5})", name_, index, vector, edge, packs, arguments());
    });
    out_.close();
    if (splits_ > 1) prepend_both();
  }

  /// The two kernels one after the other: defined ahead of the host function that calls it.
  void prepend_both() {
    std::string text = out_.text();
    const std::string marker = fmt::format("static int {}_launch(", name_);
    const std::string parameters = parameter_text(p_.flat, kernel_parameters(p_), all_statements(p_), "int64_t");
    source_writer both;
    both.line("template <class ks_ix, int kVector, int kEdge>");
    both.open(fmt::format("static int {}_both(int64_t packs, int64_t parts, unsigned char* part, cudaStream_t ks_stream, {})", name_,
                          parameters));
    both.line(fmt::format("const dim3 grid(unsigned(ks_blocks(packs, {})), static_cast<unsigned>(parts));", width()));
    both.line(fmt::format("const int failed = ks_start({}_column_kernel<ks_ix, kVector, kEdge>, grid, dim3({}), 0, ks_stream, {}, part);",
                          name_, choice_.threads, arguments()));
    both.line("if (failed != 0) return failed;");
    both.line(
        fmt::format("return ks_start({}_finish_kernel<ks_ix, kVector, kEdge>, dim3(unsigned(ks_blocks(packs, 128))), dim3(128), 0, "
                    "ks_stream, {}, part, parts);",
                    name_, arguments()));
    both.close();
    both.line("");
    text.insert(text.find(marker), both.text());
    out_ = source_writer();
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      out_.line(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  const simt_program& p_;
  const across_choice& choice_;
  int lane_;
  row::plan plan_;
  std::string name_, extent_;
  std::vector<int> others_;
  std::int64_t splits_ = 1;
  int loads_ = 0;
  source_writer out_;
};

}  // namespace

std::optional<int> across_lane(const simt_program& p) {
  if (!row::lanes_possible(p.rows, row::lanes::across)) return std::nullopt;
  const row::plan plan = row::schedule(p.rows, row::plan_with(row::lanes::across));
  for (int i = 0; i < p.count(); ++i)
    if (p.at(i).kind == row::role::nested || p.at(i).kind == row::role::scan) return std::nullopt;
  return plan.lane;
}

row_code write_across(const simt_program& p, const across_choice& choice) {
  return across_writer(p, choice, *across_lane(p)).run();
}

}  // namespace kernsmith::agents::simt
