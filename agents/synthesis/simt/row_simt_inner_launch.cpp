// Around the kernels whose threads lie along rows: how many threads a row gets, values between sweeps, parts of rows, launching.
#include <algorithm>

#include "agents/synthesis/simt/row_simt_inner.hpp"

namespace kernsmith::agents::simt {
namespace {

constexpr std::int64_t most_threads = 1024;
/// Threads for one row from which on a cluster of blocks takes it, if that is decided: a block alone leaves others little room beside it.
constexpr std::int64_t crowded_threads = 512;
/// Bytes of a row that 512 threads keep in registers with room for as many beside them.
constexpr std::int64_t roomy_register_bytes = 112 * crowded_threads;
/// Bytes of kept values that a thread can hold in registers beside what it computes with.
constexpr std::int64_t kept_register_bytes = 384, kept_register_bytes_full_block = 128;

std::int64_t round_up_to_power(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

}  // namespace

std::optional<inner_writer::configuration> inner_writer::place(std::int64_t n, std::int64_t kept_bytes_per_element) const {
  const std::int64_t packs = (n + choice_.vector - 1) / choice_.vector + (n % choice_.vector != 0 ? 1 : 0);
  const auto spread = [&](std::int64_t threads, keeping keep) {
    configuration c;
    c.blocks = threads > crowded_threads ? clusters() : 1;
    c.threads = threads / c.blocks;
    c.items = (packs + threads - 1) / threads;
    c.keep = keep;
    return c;
  };
  const auto kept_bytes = [&](const configuration& c) { return c.items * choice_.vector * kept_bytes_per_element; };
  const std::int64_t limit = clusters() > 1 ? crowded_threads * clusters() : most_threads;
  const std::int64_t threads = std::clamp<std::int64_t>(round_up_to_power((packs + choice_.vectors - 1) / choice_.vectors), 1, limit);
  // A block that leaves no room for another beside it takes all threads that it can have.
  const std::int64_t least = 2 * model_.warp_size;
  const bool alone = 2 * n * kept_bytes_per_element > model_.shared_bytes_per_block * clusters();
  const std::int64_t most = (alone ? most_threads : crowded_threads) * clusters();
  const configuration shared = spread(std::clamp(threads, least, most), keeping::shared);
  const bool fits_shared = kept_bytes(shared) * shared.threads <= model_.shared_bytes_per_block;
  // A row that would crowd the registers of a lone block stands in shared memory instead.
  const bool crowds = clusters() == 1 && n * kept_bytes_per_element > roomy_register_bytes;
  if (fits_shared && (crowds || choice_.keep == keeping::shared)) return shared;
  // Small elements make more arithmetic of the same bytes than one crowded block hides: such rows are read again.
  if (kept_bytes_per_element <= 2 && threads > crowded_threads && clusters() == 1) return std::nullopt;
  if (choice_.keep == keeping::registers)
    for (std::int64_t more = threads; more <= limit; more *= 2) {
      const configuration c = spread(more, keeping::registers);
      if (kept_bytes(c) <= (c.threads == most_threads ? kept_register_bytes_full_block : kept_register_bytes)) return c;
    }
  if (fits_shared) return shared;
  return std::nullopt;
}

std::int64_t inner_writer::clusters() const {
  const bool scans = std::any_of(p_.rows.statements.begin(), p_.rows.statements.end(),
                                 [](const row::row_statement& s) { return s.kind == row::role::scan; });
  return scans ? 1 : choice_.cluster;
}

std::set<std::int64_t> inner_writer::lengths() const {
  std::set<std::int64_t> all;
  for (const workload& w : p_.flat.workloads)
    all.insert(extent_of(p_.flat.statements[0].variables[static_cast<std::size_t>(lane_)].extent, w.axes));
  return all;
}

std::vector<inner_writer::configuration> inner_writer::configurations() const {
  std::vector<configuration> all;
  if (choice_.keep == keeping::again) return all;
  const row_traffic traffic = traffic_along(p_, lane_);
  for (const std::int64_t n : lengths()) {
    constexpr std::size_t most_copies = 3;
    if (all.size() == most_copies) break;
    std::optional<configuration> placed = place(n, traffic.kept_bytes_per_element);
    if (!placed) continue;
    configuration c = *placed;
    const std::int64_t capacity = c.threads * c.blocks * c.items * choice_.vector;
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

void inner_writer::finish(lane_code& code, const row::sweep& w, const std::vector<pack>& held, body b) {
  for (const int i : w.sinks) {
    if (p_.at(i).kind != row::role::reduce) continue;
    if (looks_back(i, b)) {
      find_place(code, i, held, b);
      continue;
    }
    const accumulator a = accumulator_of(p_, code, i);
    const std::string total = fmt::format("ks_reduce<kThreads, kBlocks>({}, {})", part_name(i), a.merge);
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

void inner_writer::settle(lane_code& code, int i, const accumulator& a, body b) {
  out_.line(fmt::format("[[maybe_unused]] const {} {} = {};", code.seen_type(i), row_name(i), finished(code, i, a, part_name(i))));
  code.know(i, row_name(i));
  store_row_value(code, i, b);
  invert(code, i);
}

void inner_writer::invert(lane_code& code, int i) {
  if (code.seen_type(i) != "float") return;
  for (int reader = 0; reader < p_.count(); ++reader) {
    const row::row_statement& s = p_.at(reader);
    if (s.kind == row::role::point || is_float(p_.tensor(s.tensor).type) == false) continue;
    for (const expression& e : s.nodes) {
      if (e.kind != expression_kind::call || e.op != operation::divide) continue;
      const expression& divisor = s.nodes[static_cast<std::size_t>(e.arguments[1])];
      if (divisor.kind != expression_kind::load || p_.rows.written_by(divisor.symbol) != i) continue;
      const std::string name = p_.stem(p_.at(i).tensor) + "_divisor";
      out_.line(fmt::format("const ks_divisor {} = ks_divide_by({});", name, row_name(i)));
      code.know_divisor(i, name);
      return;
    }
  }
}

void inner_writer::store_row_value(const lane_code& code, int i, body) {
  if (!p_.at(i).stored) return;
  out_.line(fmt::format("if (live && lane == 0) {} = {};", code.target_element(i),
                        code.stored(i, row_name(i), class_of(p_.tensor(p_.at(i).tensor).type))));
}

void inner_writer::points(lane_code& code, int stage, body b) {
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

std::string inner_writer::scratch_offset(int i) const {
  const std::vector<int>& sinks = plan_.sweeps[0].sinks;
  return fmt::format("size_t({})", accumulator_bytes * (std::find(sinks.begin(), sinks.end(), i) - sinks.begin()));
}

void inner_writer::finish_kernel() {
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

void inner_writer::open_launcher(bool scratch) {
  out_.open(fmt::format("static int {}_launch({}, {}cudaStream_t ks_stream)", name_,
                        parameter_text(p_.flat, host_parameters(p_), all_statements(p_), "int64_t"), scratch ? "void* ks_scratch, " : ""));
  for (const std::string& line : derive_axes(p_)) out_.line(line);
  out_.line(fmt::format("const int64_t rows = {};", p_.product(p_.rows.parallel)));
}

void inner_writer::launcher() {
  open_launcher(false);
  const std::string narrow = typically_narrow(p_) ? "int32_t" : "int64_t";
  const std::string fits = typically_narrow(p_) ? fits_narrow(p_.flat, all_statements(p_)) : "true";
  const std::vector<configuration> all = configurations();
  if (!all.empty()) out_.line(fmt::format("const bool fits = {};", fits));
  for (const configuration& c : all) {
    keep_now_ = c.keep;
    const std::int64_t side_by_side = c.threads <= model_.warp_size ? std::max<std::int64_t>(1, block_threads() / c.threads) : 1;
    out_.line(fmt::format("if (fits && {})", c.condition));
    const std::string start = c.blocks > 1 ? fmt::format("ks_start_clusters({}, ", c.blocks) : "ks_start(";
    const std::string more = c.keep == keeping::shared ? fmt::format(", {}", resident(c)) : "";
    out_.line(
        fmt::format("  return {}{}<{}, {}, {}, {}, {}, {}{}>, dim3(unsigned(ks_blocks(rows, {})){}), dim3({}), {}, ks_stream, {}, rows);",
                    start, kernel_name(body::kept), narrow, choice_.vector, c.threads, c.blocks, c.items, c.edge, more, side_by_side,
                    c.blocks > 1 ? fmt::format(" * {}", c.blocks) : "", c.threads * side_by_side, shared_bytes(c), arguments()));
  }
  const std::int64_t threads = long_threads();
  const bool long_rows_expected = all.size() < lengths().size();
  if (long_rows_expected && narrow == "int32_t")
    out_.line(fmt::format("if ({}) return ks_start({}<int32_t, {}, {}, ks_any>, dim3(unsigned(rows)), dim3({}), 0, ks_stream, {}, rows);",
                          fits, kernel_name(body::streaming), choice_.vector, threads, threads, arguments()));
  out_.line(fmt::format("return ks_start({}<int64_t, {}, {}, ks_any>, dim3(unsigned(rows)), dim3({}), 0, ks_stream, {}, rows);",
                        kernel_name(body::streaming), choice_.vector, threads, threads, arguments()));
  out_.close();
}

std::int64_t inner_writer::long_threads() const {
  const std::int64_t packs = p_.typical({lane_}) / choice_.vector;
  return std::clamp<std::int64_t>(round_up_to_power(packs / choice_.vectors), long_row_threads / 2, most_threads / 2);
}

void inner_writer::split_launcher() {
  open_launcher(true);
  const std::string narrow = typically_narrow(p_) ? "int32_t" : "int64_t";
  const std::string fits = typically_narrow(p_) ? fits_narrow(p_.flat, all_statements(p_)) : "true";
  out_.line(fmt::format("const int64_t packs = ({} + 2 * {} - 1) / {};", extent_, choice_.vector, choice_.vector));
  out_.line(fmt::format("const int64_t parts = packs < {0} ? packs : {0}, packs_per_part = (packs + parts - 1) / parts;", choice_.splits));
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
      "return ks_start({}_finish_kernel<int64_t, {}>, dim3(static_cast<unsigned>(rows)), dim3({}), 0, ks_stream, {}, part, parts);", name_,
      long_row_threads, long_row_threads, arguments()));
  out_.close();
}

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
