// Vectors along rows.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/opencl/opencl_row_writer.hpp"
#include "agents/synthesis/simt/row_simt.hpp"

namespace kernsmith::agents::opencl {

row_kernel along_writer::run() {
  const std::string rows = p_.product(p_.rows.parallel);
  const std::string how = shared() ? fmt::format("// A work-group for each row, whose {} items meet in local memory:", choice_.items)
                                   : "// A work-item for each row:";
  open_kernel(how, shared() ? choice_.items : choice_.group);
  if (shared()) {
    declare_local();
    out_.line("const int ks_me = get_local_id(0);");
    out_.line("const ks_ix ks_row = get_group_id(0);");
  } else {
    out_.line("const ks_ix ks_row = get_global_id(0);");
    out_.line(fmt::format("if (ks_row >= {}) return;", rows));
  }
  for (const std::string& line : simt::unpack_classes(p_, p_.rows.parallel, "ks_row")) out_.line(line);
  lane_code row = row_lanes();
  points(row, 0);
  for (std::size_t k = 0; k < plan_.sweeps.size(); ++k) {
    sweep(row, plan_.sweeps[k]);
    if (k + 1 == plan_.sweeps.size() || plan_.sweeps[k + 1].stage != plan_.sweeps[k].stage) points(row, plan_.sweeps[k].stage);
  }
  out_.close();
  return {out_.text(), command(shared() ? rows : work_groups(rows))};
}

/// Of what each row has one of.
lane_code along_writer::row_lanes() const {
  lane_code row = lanes(1);
  if (choice_.double_sums) row.use_double();
  return row;
}

void along_writer::declare_local() {
  const lane_code row = row_lanes();
  for (const row::sweep& w : plan_.sweeps)
    for (const int i : w.sinks)
      if (p_.at(i).kind == row::role::reduce)
        out_.line(fmt::format("__local {} {}[{}];", row.type(accumulation_of(i).of()), items_name(i), choice_.items));
}

void along_writer::store_row(const lane_code& row, int i, const std::string& name) {
  if (!p_.at(i).stored) return;
  if (shared()) out_.open("if (ks_me == 0)");
  store(row, i, name);
  if (shared()) out_.close();
}

void along_writer::points(lane_code& row, int stage) {
  for (int i = 0; i < p_.count(); ++i) {
    if (!is_point(i, stage)) continue;
    const row::row_statement& s = p_.at(i);
    define(row, i, value_name(i), row.value(i, s.value, s.type), s.type);
    store_row(row, i, value_name(i));
  }
}

/// Reductions that keep a vector of accumulators for each of the packs.
bool along_writer::in_vectors(const row::sweep& w, int i) const {
  return std::find(w.sinks.begin(), w.sinks.end(), i) != w.sinks.end() && p_.at(i).kind == row::role::reduce && choice_.vector > 1;
}

void along_writer::sweep(lane_code& row, const row::sweep& w) {
  title(w);
  const lane_code vectors = row.with_width(choice_.vector);
  for (const int i : w.sinks) {
    if (p_.at(i).kind != row::role::reduce && p_.at(i).kind != row::role::scan) continue;
    const accumulation sum = accumulation_of(i);
    if (in_vectors(w, i))
      for (std::int64_t k = 0; k < choice_.packs; ++k) sum.declare(out_, vectors, fmt::format("{}{}", accumulator_name(i), k));
    sum.declare(out_, row, accumulator_name(i));
  }
  const std::string n = p_.class_extent(lane_);
  const std::int64_t step = choice_.vector * choice_.packs;
  const auto from = [&](std::int64_t before, std::int64_t each) {
    std::string text = before == 0 ? "" : fmt::format("{0} / {1} * {1}", n, before);
    if (shared()) text += fmt::format("{}ks_me{}", text.empty() ? "" : " + ", each == 1 ? "" : fmt::format(" * {}", each));
    return text.empty() ? std::string("0") : text;
  };
  if (choice_.vector > 1) {
    loop(row, w, choice_.vector, choice_.packs, from(0, step));
    if (choice_.packs > 1) loop(row, w, choice_.vector, 1, from(step, choice_.vector));
    loop(row, w, 1, 1, from(choice_.vector, 1));
  } else {
    loop(row, w, 1, 1, from(0, 1));
  }
  for (const int i : w.sinks)
    if (p_.at(i).kind == row::role::reduce) finish(row, i);
}

/// One loop of a sweep: steps of `packs` vectors, while they are whole.
void along_writer::loop(const lane_code& row, const row::sweep& w, std::int64_t width, std::int64_t packs, const std::string& from) {
  const std::string j = p_.class_name(lane_);
  const std::int64_t each = width * packs, step = each * choice_.items;
  out_.open(fmt::format("for (ks_ix {0} = {1}; {0}{2} < {3}; {4})", j, from, each == 1 ? "" : fmt::format(" + {}", each - 1),
                        p_.class_extent(lane_), step == 1 ? "++" + j : fmt::format("{} += {}", j, step)));
  for (std::int64_t k = 0; k < packs; ++k) {
    lane_code code = row.with_width(width);
    code.shift(lane_, k * width);
    row_writer::step(code, w, packs > 1 ? fmt::format("_{}", k) : "", width > 1 ? std::to_string(k) : "");
  }
  out_.close();
}

void along_writer::finish(lane_code& row, int i) {
  const accumulation sum = accumulation_of(i);
  const lane_code vectors = row.with_width(choice_.vector);
  const std::string name = accumulator_name(i);
  if (choice_.vector > 1) {
    std::string all = name + "0";
    for (std::int64_t k = 1; k < choice_.packs; ++k) all = sum.merged(vectors, all, fmt::format("{}{}", name, k));
    out_.line(fmt::format("{0} = {1};", name, sum.merged(row, name, sum.folded(vectors, all))));
  }
  if (shared()) merge_items(row, i, sum);
  define(row, i, value_name(i), sum.finished(row, name), sum.result());
  store_row(row, i, value_name(i));
}

void along_writer::merge_items(lane_code& row, int i, const accumulation& sum) {
  const std::string items = items_name(i), name = accumulator_name(i);
  out_.line(fmt::format("{}[ks_me] = {};", items, name));
  out_.line("barrier(CLK_LOCAL_MEM_FENCE);");
  out_.open(fmt::format("for (int ks_half = {}; ks_half > 0; ks_half /= 2)", choice_.items / 2));
  const std::string merged = sum.merged(row, items + "[ks_me]", items + "[ks_me + ks_half]");
  out_.line(fmt::format("if (ks_me < ks_half) {}[ks_me] = {};", items, merged));
  out_.line("barrier(CLK_LOCAL_MEM_FENCE);");
  out_.close();
  out_.line(fmt::format("{} = {}[0];", name, items));
}

}  // namespace kernsmith::agents::opencl
