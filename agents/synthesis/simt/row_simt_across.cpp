// Threads across rows: each takes a pack of neighbouring rows and computes them whole. Here: what all such kernels share, and maps.
#include "agents/synthesis/simt/row_simt_across.hpp"

#include <algorithm>
#include <bit>

namespace kernsmith::agents::simt {

row_code across_writer::run() {
  row_code made;
  made.preludes = {"vectors"};
  if (p_.rows.search) made.preludes.insert("search");
  if (plan_.sweeps.empty()) {
    if (choice_.tile > 0 && tile_class(p_)) tiles_ = write_tile(p_, choice_);
    out_.lines(tiles_.functions);
    map_kernel();
    map_launcher();
  } else {
    made.preludes.insert("reduce");
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

std::vector<across_writer::pack> across_writer::packs_of(const lane_code& code, const std::vector<int>& statements,
                                                         const std::set<std::string>& known) const {
  std::vector<pack> found;
  std::set<std::string> names;
  for (const int i : statements)
    for (std::size_t n = 0; n < p_.at(i).nodes.size(); ++n) {
      const int node = static_cast<int>(n);
      if (!is_packed(p_, i, node, lane_)) continue;
      const std::string element = code.element(i, node);
      if (known.contains(element) || std::any_of(found.begin(), found.end(), [&](const pack& k) { return k.element == element; })) continue;
      const int tensor = p_.at(i).nodes[n].symbol;
      std::string name = p_.stem(tensor) + "_in";
      for (int number = 2; !names.insert(name).second; ++number) name = fmt::format("{}_in{}", p_.stem(tensor), number);
      found.push_back({name, element, p_.tensor(tensor).type});
    }
  return found;
}

void across_writer::bind(lane_code& code, const std::vector<int>& statements, const std::vector<pack>& packs,
                         const std::string& index) const {
  for (const int i : statements)
    for (std::size_t n = 0; n < p_.at(i).nodes.size(); ++n) {
      if (!is_packed(p_, i, static_cast<int>(n), lane_)) continue;
      const std::string element = code.element(i, static_cast<int>(n));
      for (const pack& k : packs)
        if (k.element == element) code.have(i, static_cast<int>(n), k.name + index + ".at[l]");
    }
}

void across_writer::comment() {
  for (int i = 0; i < p_.count(); ++i) out_.line("//   " + p_.at(i).text);
}

void across_writer::unpack(const std::string& number) {
  if (others_.empty()) {
    out_.line(fmt::format("const ks_ix first = {} * kVector;", number));
    return;
  }
  out_.line(fmt::format("const ks_ix rest = {} / packs;", number));
  for (const std::string& line : unpack_classes(p_, others_, "rest")) out_.line("[[maybe_unused]] " + line);
  if (!shifts()) {
    out_.line(fmt::format("const ks_ix first = {} % packs * kVector;", number));
    return;
  }
  out_.line("ks_ix shift = 0;  // a row may begin between two packs");
  if (const std::string element = shift_element(); !element.empty()) {
    out_.open("if (kEdge == ks_any)");
    out_.line(fmt::format("const ks_ix {} = 0;", p_.class_name(lane_)));
    out_.line(fmt::format("shift = ks_ix((&{} - {}) % kVector);", element, element.substr(0, element.find('['))));
    out_.close();
  }
  out_.line(fmt::format("const ks_ix first = {} % packs * kVector - shift;", number));
}

std::string across_writer::shift_element() const {
  const lane_code code(p_);
  for (int i = 0; i < p_.count(); ++i)
    if (packed_output(i)) return code.target_element(i);
  return "";
}

std::string across_writer::output_edge(const lane_code& code, int i) const {
  const auto place = [](const std::string& text) { return text.substr(std::min(text.find('['), text.size())); };
  if (!shifts() || place(code.target_element(i)) == place(shift_element())) return edge_;
  return fmt::format("(kEdge == ks_any ? ks_any : {})", edge_);
}

void across_writer::count_packs() {
  out_.line(fmt::format("const ks_ix packs = ({} + {}kVector - 1) / kVector;", extent_,
                        shifts() ? "(kEdge == ks_any ? kVector - 1 : 0) + " : ""));
  out_.line(fmt::format("const ks_ix count = packs{};", others_.empty() ? "" : " * (" + p_.product(others_) + ")"));
}

void across_writer::map_kernel() {
  lane_code code(p_);
  std::vector<int> all = all_statements(p_);
  out_.line("// Every element on its own: a thread takes kItems packs of kVector neighbours at a time.");
  comment();
  out_.line(fmt::format("template <class ks_ix, int kVector, int kEdge{}>", p_.rows.search ? ", int kLevels" : ""));
  out_.open(fmt::format("__global__ void __launch_bounds__({}) {}_map_kernel({})", choice_.threads, name_,
                        parameter_text(p_.flat, kernel_parameters(p_), all, "ks_ix")));
  out_.line(fmt::format("constexpr int kThreads = {}, kItems = {};", choice_.threads, choice_.items));
  plant_tree();
  count_packs();
  out_.line("const ks_ix stride = ks_ix(gridDim.x) * (kThreads * kItems);");
  out_.open("for (ks_ix start = ks_ix(blockIdx.x) * (kThreads * kItems) + threadIdx.x; start < count; start += stride)");
  const std::vector<pack> packs = packs_of(code, all, {});
  for (const pack& k : packs) out_.line(fmt::format("{} {}[kItems];", pack_type(k.type), k.name));
  if (!packs.empty()) {
    open_items();
    out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first;", p_.class_name(lane_)));
    for (const pack& k : packs)
      out_.line(fmt::format("{}[item] = ks_fetch<kVector, kEdge, {}>(&{}, first, ks_ix({}));", k.name, stream_loads(), k.element, extent_));
    out_.close();
  }
  open_items();
  bind(code, all, packs, "[item]");
  // Packs that lie inside as a whole need no look at each element.
  out_.open("const auto rows = [&](auto edge)");
  out_.line("constexpr int kHere = decltype(edge)::value;");
  edge_ = "kHere";
  declare_outputs();
  count_borders(code);
  open_lanes();
  for (const int i : all) {
    define(code, i, row_name(i));
    if (p_.at(i).stored) put_lane(code, i, row_name(i));
  }
  out_.close();
  store_outputs(code);
  edge_ = "kEdge";
  out_.close(";");
  out_.line(fmt::format("if (kEdge == ks_any && first >= 0 && first + kVector <= {}) rows(ks_edge<ks_full>{{}});", extent_));
  out_.line("else rows(ks_edge<kEdge>{});");
  out_.close();
  out_.close();
  out_.close();
  out_.line("");
}

void across_writer::plant_tree() {
  if (!p_.rows.search) return;
  out_.line("KS_DYNAMIC_SHARED(shared);");
  out_.line("ks_counter<kLevels> tree;");
  out_.line(fmt::format("tree.plant({}, int({}), shared);", p_.tensor(p_.rows.search->borders).name,
                        p_.class_extent(p_.rows.search->count_class)));
}

void across_writer::count_borders(lane_code& code) {
  if (!p_.rows.search) return;
  const int counted = p_.rows.search->statement;
  out_.line("float probe[kVector] = {};");
  open_lanes();
  for (int i = 0; i < counted; ++i) define(code, i, row_name(i));
  out_.line(fmt::format("probe[l] = {};", code.value(counted, p_.rows.search->value, value_class::real)));
  out_.close();
  for (int i = 0; i < counted; ++i) code.forget(i);
  out_.line("int below[kVector];");
  out_.line(fmt::format("tree.template count<{}>(probe, below);", p_.rows.search->strict));
}

void across_writer::open_items() {
  out_.line("#pragma unroll");
  out_.open("for (int item = 0; item < kItems; ++item)");
  out_.line("const ks_ix at = start + item * kThreads;");
  out_.line("if (at >= count) break;");
  unpack("at");
}

void across_writer::open_lanes() {
  const std::string n = p_.class_name(lane_);
  out_.line("#pragma unroll");
  out_.open("for (int l = 0; l < kVector; ++l)");
  out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first + l;", n));
  out_.line(fmt::format("if ({0} == ks_any && ({1} < 0 || {1} >= {2})) continue;", edge_, n, extent_));
}

void across_writer::define(lane_code& code, int i, const std::string& name) {
  const row::row_statement& s = p_.at(i);
  const bool searched = p_.rows.search && p_.rows.search->statement == i;
  const std::string value = searched ? "int64_t(below[l])" : code.value(i, s.value, s.type);
  out_.line(fmt::format("[[maybe_unused]] const {} {} = {};", code.seen_type(i), name,
                        code.seen(i, value, searched ? value_class::integer : s.type)));
  code.know(i, name);
}

void across_writer::declare_outputs() {
  for (int i = 0; i < p_.count(); ++i)
    if (packed_output(i)) out_.line(fmt::format("{} {} = {{}};", pack_type(p_.tensor(p_.at(i).tensor).type), out_name(i)));
}

bool across_writer::packed_output(int i) const {
  const row::row_statement& s = p_.at(i);
  return s.stored && (s.kind == row::role::point || s.kind == row::role::reduce) && is_packed_target(p_, i, lane_);
}

void across_writer::put_lane(const lane_code& code, int i, const std::string& value) {
  const std::string element = code.stored(i, value, class_of(p_.tensor(p_.at(i).tensor).type));
  if (packed_output(i))
    out_.line(fmt::format("{}.at[l] = {};", out_name(i), element));
  else
    out_.line(fmt::format("{} = {};", code.target_element(i), element));
}

void across_writer::store_outputs(const lane_code& code) {
  bool any = false;
  for (int i = 0; i < p_.count(); ++i) any = any || packed_output(i);
  if (!any) return;
  out_.open_scope();
  out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first;", p_.class_name(lane_)));
  for (int i = 0; i < p_.count(); ++i)
    if (packed_output(i))
      out_.line(fmt::format("ks_put<kVector, {}, {}>(&{}, {}, first, ks_ix({}));", edge_, stream_stores(), code.target_element(i),
                            out_name(i), extent_));
  out_.close();
}

void across_writer::open_launcher(bool scratch) {
  out_.open(fmt::format("static int {}_launch({}, {}cudaStream_t ks_stream)", name_,
                        parameter_text(p_.flat, host_parameters(p_), all_statements(p_), "int64_t"), scratch ? "void* ks_scratch, " : ""));
  for (const std::string& line : derive_axes(p_)) out_.line(line);
  out_.line(fmt::format("const bool fits = {};", fits_narrow(p_.flat, all_statements(p_))));
}

void across_writer::map_launcher() {
  open_launcher(false);
  out_.lines(tiles_.start);
  if (!p_.rows.search) {
    choose([&](const std::string& index, std::int64_t vector, const std::string& edge) {
      constexpr std::int64_t many = 4096;  // short blocks balance better than few long ones
      return start_map(fmt::format("{}, {}, {}", index, vector, edge), vector, many, "0");
    });
  } else {
    const std::string borders = p_.class_extent(p_.rows.search->count_class);
    // Blocks that plant a tree first are about as many as run at once, and more where planting is quick: multiprocessors aren't equally
    // fast.
    constexpr std::int64_t tree_threads = 2048, copies_threads = 16384;
    for (const int levels : search_levels()) {
      const auto start = [&](const std::string& index, std::int64_t vector, const std::string& edge) {
        return start_map(fmt::format("{}, {}, {}, {}", index, vector, edge, levels), vector,
                         (levels > 0 ? copies_threads : tree_threads) / choice_.threads,
                         fmt::format("ks_counter<{}>::bytes({})", levels, borders));
      };
      if (levels == 0) {
        choose(start);
        continue;
      }
      const std::string narrow = typically_narrow(p_) ? "int32_t" : "int64_t";
      out_.open(fmt::format("if (fits && ks_search_levels({}) == {})", borders, levels));
      out_.line(fmt::format("if ({} % {} == 0) return {};", extent_, choice_.vector, start(narrow, choice_.vector, "ks_full")));
      out_.line(fmt::format("return {};", start(narrow, choice_.vector, "ks_any")));
      out_.close();
    }
  }
  out_.close();
}

std::string across_writer::start_map(const std::string& kernel, std::int64_t vector, std::int64_t blocks,
                                     const std::string& shared_bytes) const {
  const std::string packs = fmt::format("({0} + {1}) / {2}{3}", extent_, shifts() ? 2 * (vector - 1) : vector - 1, vector,
                                        others_.empty() ? "" : " * (" + p_.product(others_) + ")");
  return fmt::format(
      "ks_start({}_map_kernel<{}>, dim3(unsigned(ks_blocks({}, {}, {} * int64_t(ks_multiprocessors())))), dim3({}), {}, ks_stream, {})",
      name_, kernel, packs, choice_.threads * choice_.items, blocks, choice_.threads, shared_bytes, arguments());
}

std::vector<int> across_writer::search_levels() const {
  constexpr int most_levels = 8;
  constexpr std::size_t most_copies = 2;
  std::vector<int> all;
  const auto counted = static_cast<std::size_t>(p_.rows.search->count_class);
  for (const workload& w : p_.flat.workloads) {
    const auto borders = static_cast<std::uint64_t>(extent_of(p_.flat.statements[0].variables[counted].extent, w.axes));
    const int levels = static_cast<int>(std::bit_width(borders));
    if (choice_.bank_copies && levels > 0 && levels <= most_levels && all.size() < most_copies &&
        std::find(all.begin(), all.end(), levels) == all.end())
      all.push_back(levels);
  }
  all.push_back(0);
  return all;
}

std::optional<int> across_lane(const simt_program& p) {
  if (!row::lanes_possible(p.rows, row::lanes::across)) return std::nullopt;
  const row::plan plan = row::schedule(p.rows, row::plan_with(row::lanes::across));
  for (int i = 0; i < p.count(); ++i)
    if (p.at(i).kind == row::role::nested || p.at(i).kind == row::role::scan) return std::nullopt;
  if (!plan.sweeps.empty()) return plan.lane;
  // Maps write whole packs; what then lies across is read by tiles, or through the caches.
  for (int i = p.count(); i-- > 0;)
    if (p.at(i).stored && !p.at(i).target.empty()) return p.at(i).target.back();
  return plan.lane;
}

row_code write_across(const simt_program& p, const across_choice& choice) {
  return across_writer(p, choice, *across_lane(p)).run();
}

}  // namespace kernsmith::agents::simt
