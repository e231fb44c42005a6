// Kernels whose threads lie along rows, and their sweeps.
#include "agents/synthesis/simt/row_simt_inner.hpp"

#include <algorithm>
#include <map>

namespace kernsmith::agents::simt {

row_code inner_writer::run() {
  row_code made;
  made.preludes = {"vectors", "reduce"};
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

bool inner_writer::varies_with_row(int i, int node) const {
  const expression& e = p_.at(i).nodes[static_cast<std::size_t>(node)];
  return p_.rows.parallel.empty() || std::any_of(p_.rows.parallel.begin(), p_.rows.parallel.end(),
                                                 [&](int c) { return row::access_of(p_.rows, p_.at(i), e, c) != row::access::absent; });
}

std::vector<inner_writer::pack> inner_writer::packs_of(const lane_code& code, const std::vector<int>& statements) const {
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

std::vector<int> inner_writer::statements_of(const row::sweep& w) const {
  std::set<int> all(w.needed.begin(), w.needed.end());
  all.insert(w.sinks.begin(), w.sinks.end());
  return {all.begin(), all.end()};
}

std::vector<int> inner_writer::swept_statements() const {
  std::set<int> all;
  for (const row::sweep& w : plan_.sweeps)
    for (const int i : statements_of(w)) all.insert(i);
  return {all.begin(), all.end()};
}

void inner_writer::bind(lane_code& code, const std::vector<int>& statements, const std::vector<pack>& packs,
                        const std::string& index) const {
  for (const int i : statements)
    for (std::size_t n = 0; n < p_.at(i).nodes.size(); ++n) {
      if (!is_packed(p_, i, static_cast<int>(n), lane_)) continue;
      const std::string element = code.element(i, static_cast<int>(n));
      for (const pack& k : packs)
        if (k.element == element) code.have(i, static_cast<int>(n), fmt::format("{}{}.at[l]", k.name, k.varies ? index : ""));
    }
}

void inner_writer::comment() {
  for (int i = 0; i < p_.count(); ++i) out_.line("//   " + p_.at(i).text);
}

std::string inner_writer::kernel_name(body b) const {
  if (b == body::kept && keep_now_ == keeping::shared) return name_ + "_shared_row_kernel";
  return name_ + (b == body::kept ? "_row_kernel" : b == body::streaming ? "_long_row_kernel" : "_part_kernel");
}

void inner_writer::kernel(body b) {
  lane_code code(p_);
  const bool kept = b == body::kept;
  out_.line(kept                   ? "// One row for each kThreads neighbouring threads; what is read once stays in the threads:"
            : b == body::streaming ? "// Rows of any length, read again by every sweep:"
                                   : "// A part of a row for each block:");
  comment();
  out_.line(!kept          ? "template <class ks_ix, int kVector, int kThreads, int kEdge>"
            : in_shared(b) ? "template <class ks_ix, int kVector, int kThreads, int kBlocks, int kItems, int kEdge, int kResident>"
                           : "template <class ks_ix, int kVector, int kThreads, int kBlocks, int kItems, int kEdge>");
  const std::string parameters = parameter_text(p_.flat, kernel_parameters(p_), all_statements(p_), "ks_ix");
  const std::string more = b == body::part ? "unsigned char* ks_scratch, ks_ix ks_packs_per_part" : "ks_ix ks_row_count";
  const std::string threads = kept ? fmt::format("kThreads < {0} ? {0} : kThreads", block_threads()) : "kThreads";
  const std::string bounds = kept ? fmt::format("({}), ({})", threads, blocks_side_by_side(b, threads)) : threads;
  out_.open(fmt::format("__global__ void __launch_bounds__({}) {}({}, {})", bounds, kernel_name(b), parameters, more));
  place_rows(b);
  find_shift(code, b);
  points(code, 0, b);
  const std::vector<int> swept = swept_statements();
  std::vector<pack> held;
  if (kept) {
    for (const pack& k : packs_of(code, swept))
      if (k.varies) held.push_back(k);
    if (in_shared(b))
      bring_row(held);
    else
      load_row(held);
  }
  for (const row::sweep& w : plan_.sweeps) {
    sweep(code, w, held, b);
    if (b != body::part) points(code, w.stage, b);
  }
  out_.close();
  out_.line("");
}

void inner_writer::place_rows(body b) {
  if (b == body::kept) {
    out_.line(in_shared(b) ? "constexpr int kRows = 1;"
                           : fmt::format("constexpr int kRows = kThreads <= {} ? {} / kThreads : 1;  // side by side in a block",
                                         model_.warp_size, block_threads()));
    out_.line("constexpr int kAcross = kThreads * kBlocks;  // threads of a row");
    out_.line("const int lane = int(blockIdx.x) % kBlocks * kThreads + int(threadIdx.x) % kThreads;");
    out_.line("const ks_ix at = ks_ix(blockIdx.x) / kBlocks * kRows + ks_ix(threadIdx.x) / kThreads;");
    out_.line("const bool live = kRows == 1 || at < ks_row_count;  // others go along, on row 0, and write nothing");
    out_.line("const ks_ix row = live ? at : 0;");
  } else {
    out_.line("constexpr int kAcross = kThreads, kBlocks = 1;");
    out_.line("const int lane = int(threadIdx.x);");
    if (b == body::streaming) out_.line("const bool live = blockIdx.x < ks_row_count;");
    out_.line("const ks_ix row = ks_ix(blockIdx.x);");
  }
  for (const std::string& line : unpack_classes(p_, p_.rows.parallel, "row")) out_.line("[[maybe_unused]] " + line);
}

void inner_writer::find_shift(const lane_code& code, body b) {
  const std::vector<pack> packs = packs_of(code, swept_statements());
  const auto first = std::find_if(packs.begin(), packs.end(), [](const pack& k) { return k.varies; });
  std::string& element = shift_element_;
  element.clear();
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

std::string inner_writer::first_text(body b) const {
  if (b == body::part) return "(begin + ks_ix(item) * kThreads + lane) * kVector - shift";
  return "(ks_ix(item) * kAcross + lane) * kVector - shift";
}

void inner_writer::load_row(const std::vector<pack>& held) {
  if (held.empty()) return;
  for (const pack& k : held) out_.line(fmt::format("{} {}[kItems];", pack_type(type_of(k)), k.name));
  out_.line("#pragma unroll");
  out_.open("for (int item = 0; item < kItems; ++item)");
  out_.line(fmt::format("const ks_ix {} = {};", p_.class_name(lane_), first_text(body::kept)));
  for (const pack& k : held) fetch(k, k.name + held_index(), "kEdge", choice_.stream_loads);
  out_.close();
}

void inner_writer::fetch(const pack& k, const std::string& into, const std::string& edge, bool stream) {
  out_.line(fmt::format("{} = ks_fetch<kVector, {}, {}>(&{}, {}, ks_ix({}));", into, edge, stream ? "true" : "false", k.element,
                        p_.class_name(lane_), extent_));
}

std::string inner_writer::edge_of(const std::string& element) const {
  const auto place = [](const std::string& text) { return text.substr(std::min(text.find('['), text.size())); };
  return place(element) == place(shift_element_) ? "kHere" : "(kEdge == ks_any ? ks_any : kHere)";
}

void inner_writer::sweep(lane_code& code, const row::sweep& w, const std::vector<pack>& held, body b) {
  std::string title;
  for (const int i : w.sinks) title += (title.empty() ? "// " : "; ") + p_.at(i).text;
  out_.line(title);
  const std::vector<int> scans = scans_of(w);
  for (const int i : w.sinks)
    if (p_.at(i).kind == row::role::reduce) {
      const accumulator a = looks_back(i, b) ? extreme_of(p_, code, i) : accumulator_of(p_, code, i);
      out_.line(fmt::format("{} {} = {};", a.type, part_name(i), a.initial));
    }
  for (const int i : scans) {
    const accumulator a = accumulator_of(p_, code, i);
    out_.line(fmt::format("{} {}_carry = {};", a.type, p_.stem(p_.at(i).tensor), a.initial));
  }
  // Packs that lie inside as a whole need no look at each element; scans take all threads along, so all do the same there.
  const bool stepped = b != body::part && scans.empty();
  const std::string step = fmt::format("sweep_{}", &w - plan_.sweeps.data() + 1);
  if (stepped) {
    open_step(step);
  } else {
    out_.line(b == body::kept ? "#pragma unroll" : "#pragma unroll 4");
    out_.open(b == body::kept ? "for (int item = 0; item < kItems; ++item)" : "for (ks_ix item = 0; item < items; ++item)");
    out_.line("constexpr int kHere = kEdge;");
  }
  out_.line(fmt::format("const ks_ix first = {};", first_text(b)));
  if (b == body::part) out_.line("const bool mine = ks_ix(item) * kThreads + lane < ks_packs_per_part;");
  if (in_shared(b)) take_out(code, statements_of(w), held);
  load_step(code, w, held, b);
  declare_outputs(w);
  if (!scans.empty()) scan_step(code, scans, b);
  lanes(code, w, scans, b);
  store_outputs(code, w, b);
  out_.close(stepped ? ";" : "");
  if (stepped) take_steps(step, b);
  code.forget_elements();
  for (const int i : w.needed) code.forget(i);
  finish(code, w, held, b);
}

void inner_writer::open_step(const std::string& step) {
  out_.open(fmt::format("const auto {} = [&](auto edge, auto item)", step));
  out_.line("constexpr int kHere = decltype(edge)::value;");
}

void inner_writer::take_steps(const std::string& step, body b) {
  const std::string inside = fmt::format("first >= 0 && first + kVector <= {}", extent_);
  const std::string full = step + "(ks_edge<ks_full>{}, item);", cut = step + "(ks_edge<kEdge>{}, item);";
  if (b == body::kept && keep_now_ == keeping::registers) {
    out_.line("#pragma unroll");
    out_.open("for (int item = 0; item < kItems; ++item)");
    out_.line(fmt::format("const ks_ix first = {};", first_text(b)));
    out_.line(fmt::format("if (kEdge == ks_any && {}) {}", inside, full));
    out_.line("else " + cut);
    out_.close();
    return;
  }
  const std::string items = b == body::kept ? "kItems" : "items";
  out_.open("if (kEdge == ks_any)");
  out_.line(fmt::format("const ks_ix whole = ({} + shift) / (kAcross * kVector);", extent_));
  out_.line("#pragma unroll 4");
  out_.line("for (ks_ix item = 1; item < whole; ++item) " + full);
  out_.line("#pragma unroll 1");
  out_.open(fmt::format("for (ks_ix item = 0; item < {}; item = item == 0 && whole > 1 ? whole : item + 1)", items));
  out_.line(fmt::format("const ks_ix first = {};", first_text(b)));
  out_.line(fmt::format("if ({}) {}", inside, full));
  out_.line("else " + cut);
  out_.close();
  out_.close();
  out_.open("if (kEdge != ks_any)");
  out_.line("#pragma unroll 4");
  out_.line(fmt::format("for (ks_ix item = 0; item < {}; ++item) {}", items, cut));
  out_.close();
}

std::vector<int> inner_writer::scans_of(const row::sweep& w) const {
  std::vector<int> found;
  for (const int i : statements_of(w))
    if (p_.at(i).kind == row::role::scan) found.push_back(i);
  return found;
}

void inner_writer::load_step(lane_code& code, const row::sweep& w, const std::vector<pack>& held, body b) {
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
    for (const pack& k : fresh)
      fetch(k, k.name, edge_of(k.element), choice_.stream_loads && b != body::kept && last && varies_with_row(k.statement, k.node));
    out_.close();
  }
  bind(code, here, held, held_index());
  bind(code, here, fresh, "");
}

void inner_writer::declare_outputs(const row::sweep& w) {
  for (const int i : w.sinks)
    if (stored_in_sweep(i) && is_packed_target(p_, i, lane_))
      out_.line(fmt::format("{} {} = {{}};", pack_type(p_.tensor(p_.at(i).tensor).type), out_name(i)));
}

void inner_writer::store_outputs(const lane_code& code, const row::sweep& w, body) {
  bool any = false;
  for (const int i : w.sinks) any = any || (stored_in_sweep(i) && is_packed_target(p_, i, lane_));
  if (!any) return;
  out_.open("if (live)");
  out_.line(fmt::format("const ks_ix {} = first;", p_.class_name(lane_)));
  for (const int i : w.sinks)
    if (stored_in_sweep(i) && is_packed_target(p_, i, lane_))
      out_.line(fmt::format("ks_put<kVector, {}, {}>(&{}, {}, {}, ks_ix({}));", edge_of(code.target_element(i)),
                            choice_.stream_stores ? "true" : "false", code.target_element(i), out_name(i), p_.class_name(lane_), extent_));
  out_.close();
}

void inner_writer::open_lanes(body b) {
  const std::string n = p_.class_name(lane_);
  out_.line("#pragma unroll");
  out_.open("for (int l = 0; l < kVector; ++l)");
  out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first + l;", n));
  out_.line(fmt::format("if (kHere == ks_even ? first >= {0} : kHere == ks_any && ({1} < 0 || {1} >= {0})) continue;", extent_, n));
  if (b == body::part) out_.line("if (!mine) continue;");
}

void inner_writer::define_map(lane_code& code, int i) {
  const row::row_statement& s = p_.at(i);
  out_.line(fmt::format("const {} {} = {};", code.seen_type(i), map_name(i), code.seen(i, code.value(i, s.value, s.type), s.type)));
}

void inner_writer::scan_step(lane_code& code, const std::vector<int>& scans, body b) {
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
    out_.line(fmt::format("const {0} {1}_ahead = {2}({1}_carry, ks_scan<kThreads>({1}_all, {3}, {2}, &{1}_total));", a.type, stem, a.merge,
                          a.initial));
    out_.line(fmt::format("{0}_carry = {1}({0}_carry, {0}_total);", stem, a.merge));
  }
  (void)b;
}

void inner_writer::collect_maps(int i, std::set<int>& found) const {
  for (const expression& e : p_.at(i).nodes) {
    if (e.kind != expression_kind::load) continue;
    const int from = p_.rows.written_by(e.symbol);
    if (from >= 0 && p_.at(from).kind == row::role::map && found.insert(from).second) collect_maps(from, found);
  }
}

void inner_writer::lanes(lane_code& code, const row::sweep& w, const std::vector<int>& scans, body b) {
  open_lanes(b);
  for (const int i : statements_of(w)) {
    const row::row_statement& s = p_.at(i);
    if (s.kind == row::role::reduce && looks_back(i, b)) {
      out_.line(take_extreme(code, i));
      continue;
    }
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

void inner_writer::put_lane(const lane_code& code, int i) {
  const std::string value = code.stored(i, map_name(i), class_of(p_.tensor(p_.at(i).tensor).type));
  if (is_packed_target(p_, i, lane_))
    out_.line(fmt::format("{}.at[l] = {};", out_name(i), value));
  else
    out_.line(fmt::format("if (live) {} = {};", code.target_element(i), value));
}

}  // namespace kernsmith::agents::simt
