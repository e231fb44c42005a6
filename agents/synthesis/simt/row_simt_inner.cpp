// Threads along rows: a power of two of neighbouring threads takes a row, keeps what several sweeps read, and reduces over threads.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "agents/synthesis/simt/row_simt.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"
#include "agents/synthesis/simt/simt_sinks.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents::simt {
namespace {

constexpr std::int64_t most_threads = 1024;
/// Bytes of kept values that a thread can hold in registers beside what it computes with.
constexpr std::int64_t kept_register_bytes = 384, kept_register_bytes_full_block = 128;
/// Threads of the kernels that take rows of any length.
constexpr std::int64_t long_row_threads = 256;

std::int64_t round_up_to_power(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

/// What one copy of the kernel does differently.
enum class body : std::uint8_t {
  kept,       ///< a row fits the threads: what is read stays in registers or shared memory
  streaming,  ///< rows of any length: every sweep reads again
  part        ///< a part of a row's one sweep; the accumulators go to scratch memory
};

class inner_writer {
 public:
  inner_writer(const simt_program& p, const simt_model& model, const inner_choice& choice, int lane)
      : p_(p), model_(model), choice_(choice), lane_(lane), plan_(row::schedule(p.rows, row::plan_with(row::lanes::inner))) {
    extent_ = p.class_extent(lane);
    name_ = p.rows.name;
  }

  row_code run() {
    row_code made;
    made.reduces = true;
    const bool split = choice_.splits > 1 && can_split(p_, plan_);
    if (split) {
      kernel(body::part);
      finish_kernel();
      made.scratch_bytes = fmt::format("({}) * {} * {}", p_.product(p_.rows.parallel), choice_.splits, scratch_stride());
      split_launcher();
    } else {
      for (const keeping keep : {keeping::registers, keeping::shared}) {
        const std::vector<configuration> all = configurations();
        keep_now_ = keep;
        if (std::any_of(all.begin(), all.end(), [&](const configuration& c) { return c.keep == keep; })) kernel(body::kept);
      }
      kernel(body::streaming);
      launcher();
    }
    made.functions = out_.text();
    return made;
  }

 private:
  // ---- what is loaded ----

  struct pack {
    int statement = -1, node = -1;
    std::string name, element;
    bool varies = false;  ///< with the row
  };

  std::string pack_type(dtype type) const { return fmt::format("ks_pack<{}, kVector>", simt_storage_type(type)); }
  dtype type_of(const pack& k) const { return p_.tensor(p_.at(k.statement).nodes[static_cast<std::size_t>(k.node)].symbol).type; }

  bool varies_with_row(int i, int node) const {
    const expression& e = p_.at(i).nodes[static_cast<std::size_t>(node)];
    return p_.rows.parallel.empty() || std::any_of(p_.rows.parallel.begin(), p_.rows.parallel.end(),
                                                   [&](int c) { return row::access_of(p_.rows, p_.at(i), e, c) != row::access::absent; });
  }

  /// Packed loads of the statements, each element text once, in order.
  std::vector<pack> packs_of(const lane_code& code, const std::vector<int>& statements) const {
    std::vector<pack> found;
    std::set<std::string> names;
    for (const int i : statements)
      for (std::size_t n = 0; n < p_.at(i).nodes.size(); ++n) {
        const int node = static_cast<int>(n);
        if (!is_packed(p_, i, node, lane_)) continue;
        const std::string element = code.element(i, node);
        if (std::any_of(found.begin(), found.end(), [&](const pack& k) { return k.element == element; })) continue;
        std::string name = p_.stem(p_.at(i).nodes[n].symbol) + "_in";
        for (int number = 2; !names.insert(name).second; ++number) name = fmt::format("{}_in{}", p_.stem(p_.at(i).nodes[n].symbol), number);
        found.push_back({i, node, name, element, varies_with_row(i, node)});
      }
    return found;
  }

  /// Statements evaluated by lanes in the sweep: maps, then sinks.
  std::vector<int> statements_of(const row::sweep& w) const {
    std::set<int> all(w.needed.begin(), w.needed.end());
    all.insert(w.sinks.begin(), w.sinks.end());
    return {all.begin(), all.end()};
  }

  std::vector<int> swept_statements() const {
    std::set<int> all;
    for (const row::sweep& w : plan_.sweeps)
      for (const int i : statements_of(w)) all.insert(i);
    return {all.begin(), all.end()};
  }

  void bind(lane_code& code, const std::vector<int>& statements, const std::vector<pack>& packs, const std::string& index) const {
    for (const int i : statements)
      for (std::size_t n = 0; n < p_.at(i).nodes.size(); ++n) {
        if (!is_packed(p_, i, static_cast<int>(n), lane_)) continue;
        const std::string element = code.element(i, static_cast<int>(n));
        for (const pack& k : packs)
          if (k.element == element) code.have(i, static_cast<int>(n), fmt::format("{}{}.at[l]", k.name, k.varies ? index : ""));
      }
  }

  // ---- configurations of the kept kernel ----

  struct configuration {
    std::int64_t threads = 32, items = 1;
    keeping keep = keeping::registers;
    std::string edge = "ks_full";
    std::string condition;
  };

  /// Threads and accesses for a row of `n` elements; more threads than decided, then shared memory, where it doesn't fit otherwise.
  std::optional<configuration> place(std::int64_t n, std::int64_t kept_bytes_per_element) const {
    const std::int64_t packs = (n + choice_.vector - 1) / choice_.vector + (n % choice_.vector != 0 ? 1 : 0);
    const auto spread = [&](std::int64_t threads, keeping keep) {
      configuration c;
      c.threads = threads;
      c.items = (packs + threads - 1) / threads;
      c.keep = keep;
      return c;
    };
    const auto kept_bytes = [&](const configuration& c) { return c.items * choice_.vector * kept_bytes_per_element; };
    std::int64_t threads = std::clamp<std::int64_t>(round_up_to_power((packs + choice_.vectors - 1) / choice_.vectors), 1, most_threads);
    if (choice_.keep == keeping::registers) {
      for (std::int64_t more = threads; more <= most_threads; more *= 2) {
        const configuration c = spread(more, keeping::registers);
        if (kept_bytes(c) <= (more == most_threads ? kept_register_bytes_full_block : kept_register_bytes)) return c;
      }
      threads = most_threads;
    }
    const configuration c = spread(std::max(threads, 2 * model_.warp_size), keeping::shared);
    if (kept_bytes(c) * c.threads <= model_.shared_bytes_per_block) return c;
    return std::nullopt;
  }

  /// One for each length that rows have in the workloads and that can be kept.
  std::vector<configuration> configurations() const {
    std::vector<configuration> all;
    if (choice_.keep == keeping::again) return all;
    const row_traffic traffic = traffic_along(p_, lane_, plan_);
    std::set<std::int64_t> lengths;
    for (const workload& w : p_.flat.workloads)
      lengths.insert(extent_of(p_.flat.statements[0].variables[static_cast<std::size_t>(lane_)].extent, w.axes));
    for (const std::int64_t n : lengths) {
      constexpr std::size_t most_copies = 3;
      if (all.size() == most_copies) break;
      std::optional<configuration> placed = place(n, traffic.kept_bytes_per_element);
      if (!placed) continue;
      configuration c = *placed;
      const std::int64_t capacity = c.threads * c.items * choice_.vector;
      if (n % choice_.vector != 0) {
        c.edge = "ks_any";
        c.condition = fmt::format("{} + {} <= {}", extent_, choice_.vector - 1, capacity);
      } else if (n != capacity) {
        c.edge = "ks_even";
        c.condition = fmt::format("{0} % {1} == 0 && {0} <= {2}", extent_, choice_.vector, capacity);
      } else {
        c.condition = fmt::format("{} == {}", extent_, capacity);
      }
      all.push_back(c);
    }
    return all;
  }

  // ---- kernels ----

  void comment() {
    for (int i = 0; i < p_.count(); ++i) out_.line("//   " + p_.at(i).text);
  }

  std::string kernel_name(body b) const {
    if (b == body::kept && keep_now_ == keeping::shared) return name_ + "_shared_row_kernel";
    return name_ + (b == body::kept ? "_row_kernel" : b == body::streaming ? "_long_row_kernel" : "_part_kernel");
  }

  void kernel(body b) {
    lane_code code(p_);
    const bool kept = b == body::kept;
    out_.line(kept                   ? "// One row for each kThreads neighbouring threads; what is read once stays in the threads:"
              : b == body::streaming ? "// Rows of any length, read again by every sweep:"
                                     : "// A part of a row for each block:");
    comment();
    out_.line(kept ? "template <class ks_ix, int kVector, int kThreads, int kItems, int kEdge>"
                   : "template <class ks_ix, int kVector, int kThreads, int kEdge>");
    const std::string parameters = parameter_text(p_.flat, kernel_parameters(p_), all_statements(p_), "ks_ix");
    const std::string more = b == body::part ? "unsigned char* ks_scratch, ks_ix ks_packs_per_part" : "ks_ix ks_row_count";
    out_.open(fmt::format("__global__ void __launch_bounds__({}) {}({}, {})",
                          kept ? fmt::format("(kThreads < {0} ? {0} : kThreads)", block_threads()) : "kThreads", kernel_name(b), parameters,
                          more));
    place_rows(b);
    find_shift(code, b);
    points(code, 0, b);
    const std::vector<int> swept = swept_statements();
    std::vector<pack> held;
    if (kept) {
      for (const pack& k : packs_of(code, swept))
        if (k.varies) held.push_back(k);
      load_row(held);
    }
    for (const row::sweep& w : plan_.sweeps) {
      sweep(code, w, held, b);
      if (b != body::part) points(code, w.stage, b);
    }
    out_.close();
    out_.line("");
  }

  /// Several rows side by side fill blocks of this size; with shared memory each block has one row.
  std::int64_t block_threads() const { return keep_now_ == keeping::shared ? 2 * model_.warp_size : choice_.block; }

  void place_rows(body b) {
    if (b == body::kept) {
      out_.line(fmt::format("constexpr int kRows = kThreads < {0} ? {0} / kThreads : 1;  // side by side in a block", block_threads()));
      out_.line("const int lane = int(threadIdx.x) % kThreads;");
      out_.line("const ks_ix at = ks_ix(blockIdx.x) * kRows + ks_ix(threadIdx.x) / kThreads;");
      out_.line("const bool live = at < ks_row_count;  // others go along, on row 0, and write nothing");
      out_.line("const ks_ix row = live ? at : 0;");
    } else {
      out_.line("const int lane = int(threadIdx.x);");
      if (b == body::streaming) out_.line("const bool live = blockIdx.x < ks_row_count;");
      out_.line("const ks_ix row = ks_ix(blockIdx.x);");
    }
    for (const std::string& line : unpack_classes(p_, p_.rows.parallel, "row")) out_.line("[[maybe_unused]] " + line);
  }

  /// Rows may begin between two packs: the first pack then begins ahead of the row, so that the others are aligned.
  void find_shift(const lane_code& code, body b) {
    const std::vector<pack> packs = packs_of(code, swept_statements());
    const auto first = std::find_if(packs.begin(), packs.end(), [](const pack& k) { return k.varies; });
    std::string element;
    if (first != packs.end()) element = first->element;
    for (const int i : swept_statements())
      if (element.empty() && p_.at(i).stored && p_.at(i).kind != row::role::reduce && is_packed_target(p_, i, lane_))
        element = code.target_element(i);
    out_.line("ks_ix shift = 0;  // a row may begin between two packs");
    if (!element.empty()) {
      out_.open("if (kEdge == ks_any)");
      out_.line(fmt::format("const ks_ix {} = 0;", p_.class_name(lane_)));
      out_.line(fmt::format("shift = ks_ix((&{} - {}) % kVector);", element, element.substr(0, element.find('['))));
      out_.close();
    }
    if (b == body::streaming)
      out_.line(fmt::format("const ks_ix items = ({} + shift + kThreads * kVector - 1) / (kThreads * kVector);", extent_));
    if (b == body::part) {
      out_.line("const ks_ix begin = ks_ix(blockIdx.y) * ks_packs_per_part;");
      out_.line("const ks_ix items = (ks_packs_per_part + kThreads - 1) / kThreads;");
    }
  }

  std::string held_index() const { return keep_now_ == keeping::shared ? "[item * kThreads + lane]" : "[item]"; }

  std::string first_text(body b) const {
    if (b == body::part) return "(begin + ks_ix(item) * kThreads + lane) * kVector - shift";
    return "(ks_ix(item) * kThreads + lane) * kVector - shift";
  }

  void load_row(const std::vector<pack>& held) {
    if (held.empty()) return;
    if (keep_now_ == keeping::shared) out_.line("KS_DYNAMIC_SHARED(shared);");
    std::string offset = "0";
    for (const pack& k : held) {
      const std::string type = pack_type(type_of(k));
      if (keep_now_ == keeping::shared) {
        out_.line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>(shared + {2});", type, k.name, offset));
        offset += fmt::format(" + sizeof({}) * kItems * kThreads", type);
      } else {
        out_.line(fmt::format("{} {}[kItems];", type, k.name));
      }
    }
    out_.line("#pragma unroll");
    out_.open("for (int item = 0; item < kItems; ++item)");
    out_.line(fmt::format("const ks_ix {} = {};", p_.class_name(lane_), first_text(body::kept)));
    for (const pack& k : held) fetch(k, k.name + held_index(), choice_.stream_loads);
    out_.close();
  }

  void fetch(const pack& k, const std::string& into, bool stream) {
    out_.line(fmt::format("{} = ks_fetch<kVector, kEdge, {}>(&{}, {}, {}({}));", into, stream ? "true" : "false", k.element,
                          p_.class_name(lane_), "ks_ix", extent_));
  }

  std::string part_name(int i) const { return p_.stem(p_.at(i).tensor) + "_part"; }
  std::string row_name(int i) const { return p_.stem(p_.at(i).tensor) + "_row"; }

  // ---- a sweep ----

  void sweep(lane_code& code, const row::sweep& w, const std::vector<pack>& held, body b) {
    std::string title;
    for (const int i : w.sinks) title += (title.empty() ? "// " : "; ") + p_.at(i).text;
    out_.line(title);
    const std::vector<int> scans = scans_of(w);
    for (const int i : w.sinks)
      if (p_.at(i).kind == row::role::reduce) {
        const accumulator a = accumulator_of(p_, code, i);
        out_.line(fmt::format("{} {} = {};", a.type, part_name(i), a.initial));
      }
    for (const int i : scans) {
      const accumulator a = accumulator_of(p_, code, i);
      out_.line(fmt::format("{} {}_carry = {};", a.type, p_.stem(p_.at(i).tensor), a.initial));
    }
    out_.line(b == body::kept ? "#pragma unroll" : "#pragma unroll 4");
    out_.open(b == body::kept ? "for (int item = 0; item < kItems; ++item)" : "for (ks_ix item = 0; item < items; ++item)");
    out_.line(fmt::format("const ks_ix first = {};", first_text(b)));
    if (b == body::part) out_.line("const bool mine = ks_ix(item) * kThreads + lane < ks_packs_per_part;");
    load_step(code, w, held, b);
    declare_outputs(w);
    if (!scans.empty()) scan_step(code, scans, b);
    lanes(code, w, scans, b);
    store_outputs(code, w, b);
    out_.close();
    code.forget_elements();
    for (const int i : w.needed) code.forget(i);
    finish(code, w, b);
  }

  std::vector<int> scans_of(const row::sweep& w) const {
    std::vector<int> found;
    for (const int i : statements_of(w))
      if (p_.at(i).kind == row::role::scan) found.push_back(i);
    return found;
  }

  /// Packs that aren't held are read where they are used.
  void load_step(lane_code& code, const row::sweep& w, const std::vector<pack>& held, body b) {
    const std::vector<int> here = statements_of(w);
    std::vector<pack> packs = packs_of(code, here), fresh;
    const auto is_held = [&](const pack& k) {
      return std::any_of(held.begin(), held.end(), [&](const pack& h) { return h.element == k.element; });
    };
    for (pack& k : packs)
      if (!is_held(k)) {
        k.varies = false;  // a plain variable of this step
        while (std::any_of(held.begin(), held.end(), [&](const pack& h) { return h.name == k.name; })) k.name += "_too";
        fresh.push_back(k);
      }
    for (const pack& k : fresh) out_.line(fmt::format("{} {};", pack_type(type_of(k)), k.name));
    if (!fresh.empty()) {
      if (b == body::part)
        out_.open("if (mine)");
      else
        out_.open_scope();
      out_.line(fmt::format("const ks_ix {} = first;", p_.class_name(lane_)));
      const bool last = &w == &plan_.sweeps.back();
      for (const pack& k : fresh) fetch(k, k.name, choice_.stream_loads && b != body::kept && last && varies_with_row(k.statement, k.node));
      out_.close();
    }
    bind(code, here, held, held_index());
    bind(code, here, fresh, "");
  }

  bool stored_in_sweep(int i) const { return p_.at(i).stored && p_.at(i).kind != row::role::reduce; }
  std::string out_name(int i) const { return p_.stem(p_.at(i).tensor) + "_out"; }

  void declare_outputs(const row::sweep& w) {
    for (const int i : w.sinks)
      if (stored_in_sweep(i) && is_packed_target(p_, i, lane_))
        out_.line(fmt::format("{} {} = {{}};", pack_type(p_.tensor(p_.at(i).tensor).type), out_name(i)));
  }

  void store_outputs(const lane_code& code, const row::sweep& w, body) {
    bool any = false;
    for (const int i : w.sinks) any = any || (stored_in_sweep(i) && is_packed_target(p_, i, lane_));
    if (!any) return;
    out_.open("if (live)");
    out_.line(fmt::format("const ks_ix {} = first;", p_.class_name(lane_)));
    for (const int i : w.sinks)
      if (stored_in_sweep(i) && is_packed_target(p_, i, lane_))
        out_.line(fmt::format("ks_put<kVector, kEdge, {}>(&{}, {}, {}, ks_ix({}));", choice_.stream_stores ? "true" : "false",
                              code.target_element(i), out_name(i), p_.class_name(lane_), extent_));
    out_.close();
  }

  /// Opens the loop over the elements of a pack.
  void open_lanes(body b) {
    const std::string n = p_.class_name(lane_);
    out_.line("#pragma unroll");
    out_.open("for (int l = 0; l < kVector; ++l)");
    out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first + l;", n));
    out_.line(fmt::format("if (kEdge == ks_even ? first >= {0} : kEdge == ks_any && ({1} < 0 || {1} >= {0})) continue;", extent_, n));
    if (b == body::part) out_.line("if (!mine) continue;");
  }

  std::string map_name(int i) const { return p_.stem(p_.at(i).tensor) + "_value"; }

  void define_map(lane_code& code, int i) {
    const row::row_statement& s = p_.at(i);
    out_.line(fmt::format("const {} {} = {};", code.seen_type(i), map_name(i), code.seen(i, code.value(i, s.value, s.type), s.type)));
  }

  /// Values of the lanes up to each element, then what the threads before this one hold.
  void scan_step(lane_code& code, const std::vector<int>& scans, body b) {
    for (const int i : scans) {
      const accumulator a = accumulator_of(p_, code, i);
      out_.line(fmt::format("{0} {1}_run[kVector], {1}_all = {2};", a.type, p_.stem(p_.at(i).tensor), a.initial));
    }
    out_.line("#pragma unroll");
    out_.open("for (int l = 0; l < kVector; ++l)");
    out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first + l;", p_.class_name(lane_)));
    out_.open(fmt::format("if (kEdge == ks_full || ({0} >= 0 && {0} < {1}))", p_.class_name(lane_), extent_));
    std::set<int> maps;
    for (const int i : scans) collect_maps(i, maps);
    for (const int i : maps) {
      define_map(code, i);
      code.know(i, map_name(i));
    }
    for (const int i : scans)
      for (const std::string& line : take_in(p_, code, i, p_.stem(p_.at(i).tensor) + "_all")) out_.line(line);
    out_.close();
    for (const int i : scans) out_.line(fmt::format("{0}_run[l] = {0}_all;", p_.stem(p_.at(i).tensor)));
    out_.close();
    for (const int i : maps) code.forget(i);
    for (const int i : scans) {
      const accumulator a = accumulator_of(p_, code, i);
      const std::string stem = p_.stem(p_.at(i).tensor);
      out_.line(fmt::format("{0} {1}_total;", a.type, stem));
      out_.line(fmt::format("const {0} {1}_ahead = {2}({1}_carry, ks_scan<kThreads>({1}_all, {3}, {2}, &{1}_total));", a.type, stem,
                            a.merge, a.initial));
      out_.line(fmt::format("{0}_carry = {1}({0}_carry, {0}_total);", stem, a.merge));
    }
    (void)b;
  }

  /// Maps of the group that the argument of statement `i` is computed from.
  void collect_maps(int i, std::set<int>& found) const {
    for (const expression& e : p_.at(i).nodes) {
      if (e.kind != expression_kind::load) continue;
      const int from = p_.rows.written_by(e.symbol);
      if (from >= 0 && p_.at(from).kind == row::role::map && found.insert(from).second) collect_maps(from, found);
    }
  }

  void lanes(lane_code& code, const row::sweep& w, const std::vector<int>& scans, body b) {
    open_lanes(b);
    for (const int i : statements_of(w)) {
      const row::row_statement& s = p_.at(i);
      if (s.kind == row::role::reduce) {
        for (const std::string& line : take_in(p_, code, i, part_name(i))) out_.line(line);
        continue;
      }
      if (std::find(scans.begin(), scans.end(), i) != scans.end()) {
        const accumulator a = accumulator_of(p_, code, i);
        const std::string stem = p_.stem(s.tensor);
        out_.line(fmt::format("const {} {} = {};", code.seen_type(i), map_name(i),
                              finished(code, i, a, fmt::format("{0}({1}_ahead, {1}_run[l])", a.merge, stem))));
      } else {
        define_map(code, i);
      }
      code.know(i, map_name(i));
      if (stored_in_sweep(i) && std::find(w.sinks.begin(), w.sinks.end(), i) != w.sinks.end()) put_lane(code, i);
    }
    out_.close();
  }

  void put_lane(const lane_code& code, int i) {
    const std::string value = code.stored(i, map_name(i), class_of(p_.tensor(p_.at(i).tensor).type));
    if (is_packed_target(p_, i, lane_))
      out_.line(fmt::format("{}.at[l] = {};", out_name(i), value));
    else
      out_.line(fmt::format("if (live) {} = {};", code.target_element(i), value));
  }

  // ---- between sweeps ----

  void finish(lane_code& code, const row::sweep& w, body b) {
    for (const int i : w.sinks) {
      if (p_.at(i).kind != row::role::reduce) continue;
      const accumulator a = accumulator_of(p_, code, i);
      const std::string total = fmt::format("ks_reduce<kThreads>({}, {})", part_name(i), a.merge);
      if (b == body::part) {
        out_.line(fmt::format("{} = {};", part_name(i), total));
        out_.line(fmt::format(
            "if (lane == 0) reinterpret_cast<{}*>(ks_scratch + ({}) * gridDim.x * gridDim.y)[size_t(row) * gridDim.y + blockIdx.y] = {};",
            a.type, scratch_offset(i), part_name(i)));
        continue;
      }
      out_.line(fmt::format("{} = {};", part_name(i), total));
      settle(code, i, a, b);
    }
  }

  /// The finished value of a row, and its element where it is stored.
  void settle(lane_code& code, int i, const accumulator& a, body b) {
    out_.line(fmt::format("[[maybe_unused]] const {} {} = {};", code.seen_type(i), row_name(i), finished(code, i, a, part_name(i))));
    code.know(i, row_name(i));
    store_row_value(code, i, b);
    invert(code, i);
  }

  /// A row value that elements are divided by is inverted once.
  void invert(lane_code& code, int i) {
    if (code.seen_type(i) != "float") return;
    for (int reader = 0; reader < p_.count(); ++reader) {
      const row::row_statement& s = p_.at(reader);
      if (s.kind == row::role::point || is_float(p_.tensor(s.tensor).type) == false) continue;
      for (const expression& e : s.nodes) {
        if (e.kind != expression_kind::call || e.op != operation::divide) continue;
        const expression& divisor = s.nodes[static_cast<std::size_t>(e.arguments[1])];
        if (divisor.kind != expression_kind::load || p_.rows.written_by(divisor.symbol) != i) continue;
        out_.line(fmt::format("const float {}_inverse = ks_inverse({});", p_.stem(p_.at(i).tensor), row_name(i)));
        code.know_inverse(i, row_name(i) + ", " + p_.stem(p_.at(i).tensor) + "_inverse");
        return;
      }
    }
  }

  void store_row_value(const lane_code& code, int i, body) {
    if (!p_.at(i).stored) return;
    out_.line(fmt::format("if (live && lane == 0) {} = {};", code.target_element(i),
                          code.stored(i, row_name(i), class_of(p_.tensor(p_.at(i).tensor).type))));
  }

  void points(lane_code& code, int stage, body b) {
    for (int i = 0; i < p_.count(); ++i) {
      const row::row_statement& s = p_.at(i);
      if (s.kind != row::role::point || plan_.stage[static_cast<std::size_t>(i)] != stage || code.knows(i)) continue;
      if (b == body::part) continue;
      out_.line(fmt::format("[[maybe_unused]] const {} {} = {};  // {}", code.seen_type(i), row_name(i),
                            code.seen(i, code.value(i, s.value, s.type), s.type), s.text));
      code.know(i, row_name(i));
      store_row_value(code, i, b);
      invert(code, i);
    }
  }

  // ---- rows shared by several blocks ----

  /// Bytes per row and part, each accumulator in 16 bytes of its own kind.
  static constexpr std::int64_t accumulator_bytes = 16;
  std::int64_t scratch_stride() const { return accumulator_bytes * static_cast<std::int64_t>(plan_.sweeps[0].sinks.size()); }
  std::string scratch_offset(int i) const {
    const std::vector<int>& sinks = plan_.sweeps[0].sinks;
    return fmt::format("size_t({})", accumulator_bytes * (std::find(sinks.begin(), sinks.end(), i) - sinks.begin()));
  }

  void finish_kernel() {
    lane_code code(p_);
    out_.line("// Merges the parts of each row.");
    out_.line("template <class ks_ix, int kThreads>");
    out_.open(
        fmt::format("__global__ void __launch_bounds__(kThreads) {}_finish_kernel({}, const unsigned char* ks_scratch, int ks_part_count)",
                    name_, parameter_text(p_.flat, kernel_parameters(p_), all_statements(p_), "ks_ix")));
    out_.line("const int lane = int(threadIdx.x);");
    out_.line("constexpr bool live = true;");
    out_.line("const ks_ix row = ks_ix(blockIdx.x);");
    for (const std::string& line : unpack_classes(p_, p_.rows.parallel, "row")) out_.line("[[maybe_unused]] " + line);
    for (const int i : plan_.sweeps[0].sinks) {
      const accumulator a = accumulator_of(p_, code, i);
      out_.line(fmt::format("{} {} = {};", a.type, part_name(i), a.initial));
      out_.line(
          fmt::format("const {0}* const {1}s = reinterpret_cast<const {0}*>(ks_scratch + ({2}) * gridDim.x * ks_part_count) + size_t(row) "
                      "* ks_part_count;",
                      a.type, part_name(i), scratch_offset(i)));
      out_.line(
          fmt::format("for (int part = lane; part < ks_part_count; part += kThreads) {0} = {1}({0}, {0}s[part]);", part_name(i), a.merge));
      out_.line(fmt::format("{0} = ks_reduce<kThreads>({0}, {1});", part_name(i), a.merge));
      settle(code, i, a, body::streaming);
    }
    points(code, plan_.sweeps[0].stage, body::streaming);
    out_.close();
    out_.line("");
  }

  // ---- launching ----

  std::string arguments() const { return argument_text(p_.flat, kernel_parameters(p_)); }

  void open_launcher(bool scratch) {
    out_.open(fmt::format("static int {}_launch({}, {}cudaStream_t ks_stream)", name_,
                          parameter_text(p_.flat, host_parameters(p_), all_statements(p_), "int64_t"),
                          scratch ? "void* ks_scratch, " : ""));
    for (const std::string& line : derive_axes(p_)) out_.line(line);
    out_.line(fmt::format("const int64_t rows = {};", p_.product(p_.rows.parallel)));
  }

  void launcher() {
    open_launcher(false);
    const std::string narrow = typically_narrow(p_) ? "int32_t" : "int64_t";
    const std::string fits = typically_narrow(p_) ? fits_narrow(p_.flat, all_statements(p_)) : "true";
    const std::vector<configuration> all = configurations();
    if (!all.empty()) out_.line(fmt::format("const bool fits = {};", fits));
    for (const configuration& c : all) {
      keep_now_ = c.keep;
      const std::int64_t side_by_side = std::max<std::int64_t>(1, block_threads() / c.threads);
      const std::int64_t shared =
          c.keep == keeping::shared ? c.threads * c.items * choice_.vector * traffic_along(p_, lane_, plan_).kept_bytes_per_element : 0;
      out_.line(fmt::format("if (fits && {})", c.condition));
      out_.line(
          fmt::format("  return ks_start({}<{}, {}, {}, {}, {}>, dim3(unsigned(ks_blocks(rows, {}))), dim3({}), {}, ks_stream, {}, rows);",
                      kernel_name(body::kept), narrow, choice_.vector, c.threads, c.items, c.edge, side_by_side, c.threads * side_by_side,
                      shared, arguments()));
    }
    const std::int64_t threads = long_threads();
    out_.line(fmt::format("return ks_start({}<int64_t, {}, {}, ks_any>, dim3(unsigned(rows)), dim3({}), 0, ks_stream, {}, rows);",
                          kernel_name(body::streaming), choice_.vector, threads, threads, arguments()));
    out_.close();
  }

  /// Enough threads that a few accesses each cover a row.
  std::int64_t long_threads() const {
    const std::int64_t packs = p_.typical({lane_}) / choice_.vector;
    return std::clamp<std::int64_t>(round_up_to_power(packs / choice_.vectors), long_row_threads / 2, most_threads / 2);
  }

  void split_launcher() {
    open_launcher(true);
    const std::string narrow = typically_narrow(p_) ? "int32_t" : "int64_t";
    const std::string fits = typically_narrow(p_) ? fits_narrow(p_.flat, all_statements(p_)) : "true";
    out_.line(fmt::format("const int64_t packs = ({} + 2 * {} - 1) / {};", extent_, choice_.vector, choice_.vector));
    out_.line(
        fmt::format("const int64_t parts = packs < {0} ? packs : {0}, packs_per_part = (packs + parts - 1) / parts;", choice_.splits));
    out_.line("if (rows > 0x7fffffff) return int(cudaErrorInvalidConfiguration);");
    out_.line("const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(parts));");
    out_.line("unsigned char* const part = static_cast<unsigned char*>(ks_scratch);");
    const auto start = [&](const std::string& index, const std::string& edge) {
      return fmt::format("ks_start({}<{}, {}, {}, {}>, grid, dim3({}), 0, ks_stream, {}, part, packs_per_part)", kernel_name(body::part),
                         index, choice_.vector, long_row_threads, edge, long_row_threads, arguments());
    };
    out_.line("int failed;");
    out_.line(fmt::format("if (({}) && {} % {} == 0) failed = {};", fits, extent_, choice_.vector, start(narrow, "ks_even")));
    out_.line(fmt::format("else failed = {};", start("int64_t", "ks_any")));
    out_.line("if (failed != 0) return failed;");
    out_.line(fmt::format(
        "return ks_start({}_finish_kernel<int64_t, {}>, dim3(static_cast<unsigned>(rows)), dim3({}), 0, ks_stream, {}, part, parts);",
        name_, long_row_threads, long_row_threads, arguments()));
    out_.close();
  }

  const simt_program& p_;
  const simt_model& model_;
  const inner_choice& choice_;
  int lane_;
  row::plan plan_;
  keeping keep_now_ = keeping::registers;  ///< of the kernel or launch being written
  std::string extent_, name_;
  source_writer out_;
};

}  // namespace

std::optional<int> inner_lane(const simt_program& p) {
  const row::plan plan = row::schedule(p.rows, row::plan_with(row::lanes::inner));
  if (plan.sweeps.empty()) return std::nullopt;
  for (const row::sweep& w : plan.sweeps)
    if (w.over.size() != 1 || w.over[0] != plan.sweeps[0].over[0]) return std::nullopt;
  for (int i = 0; i < p.count(); ++i) {
    const row::row_statement& s = p.at(i);
    if (s.kind == row::role::nested) return std::nullopt;
    if (s.kind != row::role::scan) continue;
    for (const expression& e : s.nodes) {  // a scan of a scan would need two passes over the threads
      const int from = e.kind == expression_kind::load ? p.rows.written_by(e.symbol) : -1;
      if (from >= 0 && (p.at(from).kind == row::role::scan || p.at(from).kind == row::role::map)) {
        if (p.at(from).kind == row::role::scan) return std::nullopt;
        for (const expression& inner : p.at(from).nodes)
          if (inner.kind == expression_kind::load && p.rows.written_by(inner.symbol) >= 0 &&
              p.at(p.rows.written_by(inner.symbol)).kind == row::role::scan)
            return std::nullopt;
      }
    }
  }
  return plan.sweeps[0].over[0];
}

row_code write_inner(const simt_program& p, const simt_model& model, const inner_choice& choice) {
  return inner_writer(p, model, choice, *inner_lane(p)).run();
}

}  // namespace kernsmith::agents::simt
