#include "agents/synthesis/triton/triton_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/simt/row_simt.hpp"
#include "agents/synthesis/triton/triton_row_writer.hpp"

namespace kernsmith::agents::triton {

using simt::simt_program;

namespace {

row::plan plan_of(const simt_program& p) {
  return row::schedule(p.rows, row::plan_with(row::lanes::inner));
}

/// Is `from` among what statement `i` is computed from?
bool is_computed_from(const simt_program& p, int i, int from) {
  if (i == from) return true;
  for (const expression& e : p.at(i).nodes)
    if (e.kind == expression_kind::load && p.rows.written_by(e.symbol) >= 0 && is_computed_from(p, p.rows.written_by(e.symbol), from))
      return true;
  return false;
}

bool hides_nan(const row::row_statement& s) {
  return std::any_of(s.nodes.begin(), s.nodes.end(), [](const expression& e) {
    return e.kind == expression_kind::cast
               ? !is_float(e.cast_to)
               : e.kind == expression_kind::call && (e.type != value_class::real || e.op == operation::select || e.op == operation::pow);
  });
}

/// softmax's maximum: everything that it goes into gets its NaN from the sum.
int overlooked_extreme(const simt_program& p) {
  const std::optional<row::late_nan> late = row::find_late_nan(p.rows);
  if (!late || p.at(late->extreme).stored) return -1;
  for (int i = 0; i < p.count(); ++i) {
    if (hides_nan(p.at(i))) return -1;
    if (p.at(i).stored && is_computed_from(p, i, late->extreme) && !is_computed_from(p, i, late->sum)) return -1;
  }
  return late->extreme;
}

}  // namespace

bool can_write(const simt_program& p) {
  const row::plan plan = plan_of(p);
  return std::all_of(plan.sweeps.begin(), plan.sweeps.end(), [](const row::sweep& w) { return w.from_buffer.empty(); });
}

bool sweeps(const simt_program& p) {
  return !plan_of(p).sweeps.empty();
}

bool can_hold(const simt_program& p) {
  const row::plan plan = plan_of(p);
  return !plan.sweeps.empty() &&
         std::all_of(plan.sweeps.begin(), plan.sweeps.end(), [&](const row::sweep& w) { return w.over == plan.sweeps[0].over; });
}

bool can_share(const simt_program& p) {
  const row::plan plan = plan_of(p);
  return simt::can_split(p, plan) && std::none_of(plan.sweeps[0].sinks.begin(), plan.sweeps[0].sinks.end(),
                                                  [&](int i) { return accumulation::is_position(p.at(i).reducer); });
}

std::optional<int> across_class(const simt_program& p) {
  if (sweeps(p) || p.rows.parallel.size() < 2) return std::nullopt;
  const int last = p.rows.parallel.back();
  for (const row::row_statement& s : p.rows.statements)
    for (const expression& e : s.nodes) {
      if (e.kind != expression_kind::load || p.rows.written_by(e.symbol) >= 0) continue;
      if (row::access_of(p.rows, s, e, last) != row::access::strided) continue;
      for (const int c : p.rows.parallel)
        if (c != last && row::access_of(p.rows, s, e, c) == row::access::contiguous) return c;
    }
  return std::nullopt;
}

std::string write_rows(const simt_program& p, const tensor_ir& host, const row_choice& choice) {
  return row_writer(p, host, choice).run();
}

std::string call_rows(const simt_program& p, const tensor_ir& host) {
  return fmt::format("{}_group({})\n", p.rows.name, fmt::join(host_arguments(p, host), ", "));
}

row_writer::row_writer(const simt_program& p, const tensor_ir& host, const row_choice& choice)
    : p_(p), host_(host), choice_(choice), plan_(plan_of(p)), across_(across_class(p)), overlooks_nan_(overlooked_extreme(p)) {}

std::string row_writer::run() {
  if (plan_.sweeps.empty()) {
    kernel(form::map);
  } else {
    if (choice_.whole > 0) kernel(form::whole);
    if (choice_.split > 1) {
      kernel(form::part);
      kernel(form::finish);
    } else {
      kernel(form::sweep);
    }
  }
  host_function();
  return out_.text();
}

std::string row_writer::kernel_name(form f) const {
  static constexpr std::array names = {"map", "whole", "sweep", "part", "finish"};
  return p_.rows.name + "_" + names[static_cast<std::size_t>(f)];
}

std::vector<kernel_constant> row_writer::constants(form f) const {
  const kernel_constant rows_of = {"ROWS", std::to_string(rows())}, block_of = {"BLOCK", std::to_string(block())};
  const kernel_constant stages = {"STAGES", std::to_string(choice_.stages)}, parts = {"PARTS", std::to_string(choice_.split)};
  switch (f) {
    case form::map:
      if (across_) return {rows_of, block_of};
      return {{"BLOCK", std::to_string(choice_.tile)}};
    case form::whole:
      return {{"ROWS", "height"}, {"BLOCK", "width"}};
    case form::sweep:
      return {rows_of, block_of, stages};
    case form::part:
      return {rows_of, block_of, parts, stages};
    case form::finish:
      return {rows_of, {"BLOCK", std::to_string(choice_.split)}};
  }
  return {};
}

std::vector<int> row_writer::sinks() const {
  return plan_.sweeps.empty() ? std::vector<int>{} : plan_.sweeps[0].sinks;
}

// ---- kernels ----

void row_writer::kernel(form f) {
  static constexpr std::array titles = {"A program maps a tile of elements.", "A program holds a tile of rows whole.",
                                        "A program sweeps over a tile of rows, block by block.",
                                        "Several programs share a row: each reduces every PARTS-th block.",
                                        "The parts of rows, put together."};
  out_.line(fmt::format("# {}", titles[static_cast<std::size_t>(f)]));
  for (int i = 0; i < p_.count(); ++i) out_.line("#   " + p_.at(i).text);
  function_parameters parameters = simt::kernel_parameters(p_);
  std::vector<kernel_constant> all = constants(f);
  tensor_ir shown = p_.flat;
  if (f == form::part || f == form::finish)
    for (const int i : sinks()) {
      parameters.tensors.push_back(static_cast<int>(shown.tensors.size()));
      shown.tensors.push_back({});
      shown.tensors.back().name = part_name(i);
    }
  open_kernel(out_, kernel_name(f), shown, parameters, all);
  tile_writer code(p_, p_.rows.wide, out_);
  if (f == form::map) {
    place_map(code);
  } else {
    place_rows(code, f);
  }
  points(code, 0);
  if (f == form::whole) whole(code);
  if (f == form::sweep || f == form::part) swept(code, f);
  if (f == form::finish) loaded_parts(code);
  out_.close();
  out_.line("");
  out_.line("");
}

void row_writer::place_map(tile_writer& code) {
  std::vector<int> classes = p_.rows.parallel;
  if (classes.empty()) return;
  if (!across_) {
    code.where.extent = "(BLOCK,)";
    code.number_indices(classes, "element", "tl.program_id(0).to(index) * BLOCK + tl.arange(0, BLOCK)", along_rows);
    out_.line(fmt::format("inside = {} < {}", classes.size() == 1 ? p_.class_name(classes[0]) : "element", p_.product(classes)));
    code.where.live[0] = "inside";
    return;
  }
  const int last = classes.back();
  const std::string down = p_.class_extent(*across_), along = p_.class_extent(last);
  std::erase(classes, last);
  std::erase(classes, *across_);
  out_.line("program = tl.program_id(0).to(index)");
  out_.line(fmt::format("tile_n = program % tl.cdiv({}, BLOCK)", along));
  out_.line(fmt::format("tile_m = program // tl.cdiv({}, BLOCK) % tl.cdiv({}, ROWS)", along, down));
  code.number_indices({*across_}, "", "tile_m * ROWS + tl.arange(0, ROWS)[:, None]", along_rows);
  code.number_indices({last}, "", "tile_n * BLOCK + tl.arange(0, BLOCK)[None, :]", along_columns);
  if (!classes.empty())
    code.number_indices(classes, "batch", fmt::format("program // (tl.cdiv({}, BLOCK) * tl.cdiv({}, ROWS))", along, down), along_nothing);
  out_.line(fmt::format("row_inside = {} < {}", p_.class_name(*across_), down));
  out_.line(fmt::format("column_inside = {} < {}", p_.class_name(last), along));
  code.where.live = {"row_inside", "column_inside"};
}

void row_writer::place_rows(tile_writer& code, form f) {
  const std::vector<int>& classes = p_.rows.parallel;
  if (classes.empty()) return;
  const std::string program = f == form::part ? "tl.program_id(0).to(index) // PARTS" : "tl.program_id(0).to(index)";
  code.number_indices(classes, "row", program + " * ROWS + tl.arange(0, ROWS)[:, None]", along_rows);
  out_.line(fmt::format("row_inside = {} < {}", classes.size() == 1 ? p_.class_name(classes[0]) : "row", rows_count()));
  code.where.live[0] = "row_inside";
}

void row_writer::place_columns(tile_writer& code, const std::vector<int>& classes, const std::string& start) {
  const std::string lanes = start.empty() ? "tl.arange(0, BLOCK)[None, :].to(index)" : start + " + tl.arange(0, BLOCK)[None, :].to(index)";
  code.number_indices(classes, "column", lanes, along_columns);
  out_.line(fmt::format("column_inside = {} < {}", classes.size() == 1 ? p_.class_name(classes[0]) : "column", p_.product(classes)));
  code.where.live[1] = "column_inside";
}

void row_writer::points(tile_writer& code, int stage) {
  for (int i = 0; i < p_.count(); ++i) {
    const row::row_statement& s = p_.at(i);
    if (s.kind != row::role::point || plan_.stage[static_cast<std::size_t>(i)] != stage) continue;
    code.load_operands(i, s.value);
    code.define(i, code.code(i).named_value(s.value, s.type), s.type);
    if (s.stored) code.store(i);
  }
}

void row_writer::whole(tile_writer& code) {
  place_columns(code, plan_.sweeps[0].over, "");
  for (std::size_t k = 0; k < plan_.sweeps.size(); ++k) {
    step(code, plan_.sweeps[k], true);
    if (k + 1 == plan_.sweeps.size() || plan_.sweeps[k + 1].stage != plan_.sweeps[k].stage) points(code, plan_.sweeps[k].stage);
  }
}

void row_writer::swept(tile_writer& code, form f) {
  for (std::size_t k = 0; k < plan_.sweeps.size(); ++k) {
    const row::sweep& w = plan_.sweeps[k];
    declare(code, w);
    const bool part = f == form::part;
    if (part) out_.line("part = tl.program_id(0) % PARTS");
    out_.open(fmt::format("for start in tl.range({}, {}, {}, num_stages=STAGES)", part ? "part * BLOCK" : "0", p_.product(w.over),
                          part ? "BLOCK * PARTS" : "BLOCK"));
    const auto before = code.known();
    place_columns(code, w.over, "start");
    step(code, w, false);
    code.go_back(before);
    out_.close();
    code.where.live[1].clear();
    for (const int i : w.sinks) {
      if (p_.at(i).kind != row::role::reduce) continue;
      if (!part) {
        finish(code, i, code.accumulator_name(i));
        continue;
      }
      const accumulation sum = code.accumulation_of(i);
      const std::string mask = code.where.mask(along_rows);
      const std::string row = p_.rows.parallel.empty() ? "" : p_.rows.parallel.size() == 1 ? p_.class_name(p_.rows.parallel[0]) : "row";
      out_.line(fmt::format("tl.store({} + ({}part + tl.zeros((ROWS, 1), index)), {}{})", part_name(i),
                            row.empty() ? "" : row + " * PARTS + ", sum.reduced(code.accumulator_name(i), false),
                            mask.empty() ? "" : ", mask=" + mask));
    }
    if (part) return;
    if (k + 1 == plan_.sweeps.size() || plan_.sweeps[k + 1].stage != plan_.sweeps[k].stage) points(code, plan_.sweeps[k].stage);
  }
}

/// What the parts of rows left in memory.
void row_writer::loaded_parts(tile_writer& code) {
  const std::string row = p_.rows.parallel.empty() ? "" : p_.rows.parallel.size() == 1 ? p_.class_name(p_.rows.parallel[0]) : "row";
  out_.line("part = tl.arange(0, BLOCK)[None, :]");
  for (const int i : sinks()) {
    const accumulation sum = code.accumulation_of(i);
    const std::string load = row.empty() ? fmt::format("tl.load({} + part)", part_name(i))
                                         : fmt::format("tl.load({} + ({} * BLOCK + part), mask=row_inside, other=0)", part_name(i), row);
    out_.line(fmt::format("{} = {}", code.accumulator_name(i), load));
    finish(code, i, code.accumulator_name(i));
  }
  points(code, plan_.sweeps[0].stage);
}

}  // namespace kernsmith::agents::triton
