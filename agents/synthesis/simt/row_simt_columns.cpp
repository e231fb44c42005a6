// Threads across rows: sweeps are loops in the thread, shared by slices of the block and by blocks where there are too few rows.
#include <algorithm>

#include "agents/synthesis/simt/row_simt_across.hpp"

namespace kernsmith::agents::simt {

void across_writer::column_kernel() {
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

void across_writer::point_step(lane_code& code, int stage) {
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

void across_writer::load_packs(lane_code& code, const std::vector<int>& statements, const std::string& suffix) {
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

std::string across_writer::next_suffix(const std::string& suffix) {
  ++loads_;
  return suffix + (loads_ == 1 ? "" : std::to_string(loads_));
}

std::vector<int> across_writer::statements_of(const row::sweep& w) const {
  std::set<int> all(w.needed.begin(), w.needed.end());
  all.insert(w.sinks.begin(), w.sinks.end());
  return {all.begin(), all.end()};
}

std::size_t across_writer::shared_loop(const row::sweep& w) const {
  std::size_t best = 0;
  for (std::size_t k = 1; k < w.over.size(); ++k)
    if (p_.typical({w.over[k]}) > p_.typical({w.over[best]})) best = k;
  return best;
}

void across_writer::merge_slices(lane_code& code, int i) {
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

void across_writer::settle(lane_code& code, int i, const accumulator& a) {
  out_.line(fmt::format("{} {}[kVector];", code.seen_type(i), row_name(i)));
  out_.line("#pragma unroll");
  out_.line(fmt::format("for (int l = 0; l < kVector; ++l) {}[l] = {};", row_name(i), finished(code, i, a, part_name(i) + "[l]")));
  code.know(i, row_name(i) + "[l]");
}

void across_writer::write_rows(const lane_code& code) {
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

std::string across_writer::scratch_offset(int i) const {
  const std::vector<int>& sinks = plan_.sweeps[0].sinks;
  return fmt::format("size_t({})", accumulator_bytes * (std::find(sinks.begin(), sinks.end(), i) - sinks.begin()));
}

void across_writer::finish_kernel() {
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

void across_writer::column_launcher() {
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

void across_writer::prepend_both() {
  std::string text = out_.text();
  const std::string marker = fmt::format("static int {}_launch(", name_);
  const std::string parameters = parameter_text(p_.flat, kernel_parameters(p_), all_statements(p_), "int64_t");
  source_writer both;
  both.line("template <class ks_ix, int kVector, int kEdge>");
  both.open(
      fmt::format("static int {}_both(int64_t packs, int64_t parts, unsigned char* part, cudaStream_t ks_stream, {})", name_, parameters));
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
  out_.lines(text);
}

}  // namespace kernsmith::agents::simt
