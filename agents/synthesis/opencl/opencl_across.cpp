// Vectors across rows.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/opencl/opencl_row_writer.hpp"
#include "agents/synthesis/simt/row_simt.hpp"

namespace kernsmith::agents::opencl {

row_kernel across_writer::run() {
  std::string items;
  for (const int c : p_.rows.parallel) items += (items.empty() ? "" : " * ") + count(c);
  open_kernel("// Neighbouring rows, or elements, for each work-item:", choice_.group);
  out_.line("const ks_ix ks_item = get_global_id(0);");
  out_.line(fmt::format("if (ks_item >= {}) return;", items));
  unpack();
  std::string whole;
  for (const int c : p_.rows.parallel)
    if (taken(c) > 1) whole += fmt::format("{}{} + {} <= {}", whole.empty() ? "" : " && ", first(c), taken(c), p_.class_extent(c));
  if (!whole.empty()) {
    out_.open(fmt::format("if ({})", whole));
    for (const int c : p_.rows.parallel)
      if (taken(c) > 1) out_.line(fmt::format("const ks_ix {} = {};", p_.class_name(c), first(c)));
    body(whole_cells());
    out_.line("return;");
    out_.close();
    out_.line("// What is left at the edges, one by one:");
  }
  for (const int c : p_.rows.parallel)
    if (taken(c) > 1)
      out_.open(fmt::format(
          "for (ks_ix {0} = {1}; {0} < min({1} + {2}, {3}); ++{0})", p_.class_name(c), first(c), taken(c),
          p_.flat.statements[0].variables[static_cast<std::size_t>(c)].extent.axis >= 0 ? p_.class_extent(c) : p_.class_extent(c) + "L"));
  body({{lanes(1), ""}});
  for (const int c : p_.rows.parallel)
    if (taken(c) > 1) out_.close();
  out_.close();
  return {out_.text(), command(work_groups(items))};
}

std::string across_writer::count(int c) const {
  const std::string extent = p_.class_extent(c);
  return taken(c) == 1 ? extent : fmt::format("(({} + {}) / {})", extent, taken(c) - 1, taken(c));
}

/// Indices of the item's first row: vectors of neighbours follow each other, then come the other indices.
void across_writer::unpack() {
  std::vector<int> order;
  for (const int c : p_.rows.parallel)
    if (c != lane_) order.push_back(c);
  order.push_back(lane_);
  if (order.size() > 1) out_.line("ks_ix ks_rest = ks_item;");
  for (std::size_t k = order.size(); k-- > 0;) {
    const int c = order[k];
    const std::string name = taken(c) > 1 ? first(c) : p_.class_name(c), rest = order.size() > 1 ? "ks_rest" : "ks_item";
    const std::string number = k == 0 ? rest : fmt::format("{} % {}", rest, count(c));
    out_.line(fmt::format("const ks_ix {} = {}{};", name, number, taken(c) == 1 ? "" : fmt::format(" * {}", taken(c))));
    if (k > 0) out_.line(fmt::format("ks_rest /= {};", count(c)));
  }
}

std::vector<across_writer::cell> across_writer::whole_cells() const {
  std::vector<cell> cells;
  for (std::int64_t t = 0; t < (tall_ ? choice_.tall : 1); ++t)
    for (std::int64_t k = 0; k < choice_.packs; ++k) {
      lane_code code = lanes(choice_.vector);
      code.shift(lane_, k * choice_.vector);
      if (tall_) code.shift(*tall_, t);
      std::string suffix = tall_ ? fmt::format("_{}", t) : "";
      if (choice_.packs > 1) suffix += fmt::format("_{}", k);
      cells.push_back({std::move(code), suffix});
    }
  return cells;
}

void across_writer::body(std::vector<cell> cells) {
  points(cells, 0);
  for (std::size_t k = 0; k < plan_.sweeps.size(); ++k) {
    sweep(cells, plan_.sweeps[k]);
    if (k + 1 == plan_.sweeps.size() || plan_.sweeps[k + 1].stage != plan_.sweeps[k].stage) points(cells, plan_.sweeps[k].stage);
  }
}

void across_writer::points(std::vector<cell>& cells, int stage) {
  for (cell& c : cells)
    for (int i = 0; i < p_.count(); ++i) {
      if (!is_point(i, stage)) continue;
      const row::row_statement& s = p_.at(i);
      define(c.code, i, value_name(i) + c.suffix, c.code.value(i, s.value, s.type), s.type);
      if (s.stored) store(c.code, i, value_name(i) + c.suffix);
    }
}

void across_writer::sweep(std::vector<cell>& cells, const row::sweep& w) {
  title(w);
  const auto accumulates = [&](int i) { return p_.at(i).kind == row::role::reduce || p_.at(i).kind == row::role::scan; };
  for (const cell& c : cells)
    for (const int i : w.sinks)
      if (accumulates(i)) accumulation_of(i).declare(out_, c.code, accumulator_name(i) + c.suffix);
  for (const int c : w.over) out_.open(fmt::format("for (ks_ix {0} = 0; {0} < {1}; ++{0})", p_.class_name(c), p_.class_extent(c)));
  for (cell& c : cells) step(c.code, w, c.suffix, c.suffix);
  for (std::size_t k = 0; k < w.over.size(); ++k) out_.close();
  for (cell& c : cells) {
    forget_swept(c.code, w);
    for (const int i : w.sinks) {
      if (p_.at(i).kind != row::role::reduce) continue;
      const accumulation sum = accumulation_of(i);
      const std::string name = value_name(i) + c.suffix;
      define(c.code, i, name, sum.finished(c.code, accumulator_name(i) + c.suffix), sum.result());
      if (p_.at(i).stored) store(c.code, i, name);
    }
  }
}

}  // namespace kernsmith::agents::opencl
