// What a sweep does with a tile, and the host function.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agents/synthesis/triton/triton_row_writer.hpp"

namespace kernsmith::agents::triton {
namespace {

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::string parenthesised(const std::string& text) {
  return text.find(' ') == std::string::npos || text.ends_with(')') ? text : "(" + text + ")";
}

}  // namespace

std::string row_writer::masked(const tile_writer& code, const std::string& value, const std::string& identity) const {
  const std::string mask = code.where.mask(along_columns);
  return mask.empty() ? value : fmt::format("tl.where({}, {}, {})", mask, value, identity);
}

/// Accumulators, and what scans carry from block to block.
void row_writer::declare(tile_writer& code, const row::sweep& w) {
  for (const int i : w.sinks) {
    const row::row_statement& s = p_.at(i);
    if (s.kind != row::role::reduce && s.kind != row::role::scan) continue;
    const accumulation sum = code.accumulation_of(i);
    const std::string name = code.accumulator_name(i);
    const char* extent = s.kind == row::role::scan ? "(ROWS, 1)" : "(ROWS, BLOCK)";
    out_.line(fmt::format("{} = tl.full({}, {}, {})", name, extent, sum.identity(), sum.type()));
    if (accumulation::is_position(s.reducer))
      out_.line(fmt::format("{}_at = tl.zeros((ROWS, BLOCK), index) + tl.arange(0, BLOCK)[None, :]", name));
  }
}

void row_writer::step(tile_writer& code, const row::sweep& w, bool held) {
  std::set<int> all(w.needed.begin(), w.needed.end());
  all.insert(w.sinks.begin(), w.sinks.end());
  for (const int i : all) {
    const row::row_statement& s = p_.at(i);
    if (s.kind == row::role::reduce) {
      take(code, i, held);
      continue;
    }
    // Maps over indices that this sweep doesn't number are computed inside what does.
    if (!std::all_of(s.swept.begin(), s.swept.end(), [&](int c) { return contains(w.over, c); })) continue;
    if (!code.knows(i)) {
      if (s.kind == row::role::nested)
        nested(code, i);
      else if (s.kind == row::role::scan)
        scan(code, i, held);
      else {
        code.load_operands(i, s.value);
        code.define(i, code.code(i).named_value(s.value, s.type), s.type);
      }
    }
    if (contains(w.sinks, i) && s.stored) code.store(i);
  }
}

void row_writer::take(tile_writer& code, int i, bool held) {
  code.load_operands(i, p_.at(i).value);
  if (accumulation::is_position(p_.at(i).reducer)) {
    take_position(code, i, held);
    return;
  }
  const accumulation sum = code.accumulation_of(i);
  const std::string name = code.accumulator_name(i);
  const std::string value = masked(code, sum.in_type(code.code(i).tensor_value(p_.at(i).value, sum.taken())), sum.identity());
  if (!held) {
    out_.line(fmt::format("{} = {}", name, sum.merged(name, value)));
    return;
  }
  // A value that is the same for all elements is still counted once for each.
  out_.line(fmt::format("{} = tl.broadcast_to({}, (ROWS, BLOCK))", name, value));
  finish(code, i, name);
}

void row_writer::take_position(tile_writer& code, int i, bool held) {
  const row::row_statement& s = p_.at(i);
  const accumulation best = code.accumulation_of(i);
  const std::string name = code.accumulator_name(i), at = p_.class_name(s.bound[0]);
  std::string value = code.code(i).tensor_value(s.value, best.taken());
  if (best.taken() == value_class::real)
    value = fmt::format("ks_orderly({}, {}, {})", value, at, s.reducer == reduction::argmax ? "float(\"inf\")" : "float(\"-inf\")");
  value = masked(code, value, best.identity());
  if (held) {
    out_.line(fmt::format("{} = tl.broadcast_to({}, (ROWS, BLOCK))", name, value));
    out_.line(fmt::format("{0}_at = tl.broadcast_to({1}, (ROWS, BLOCK))", name, at));
    finish(code, i, name);
    return;
  }
  out_.line(fmt::format("{}_next = {}", name, value));
  out_.line(fmt::format("{0}_at = tl.where({0}_next {1} {0}, {2}, {0}_at)", name, s.reducer == reduction::argmax ? ">" : "<", at));
  out_.line(fmt::format("{0} = tl.where({0}_next {1} {0}, {0}_next, {0})", name, s.reducer == reduction::argmax ? ">" : "<"));
}

void row_writer::scan(tile_writer& code, int i, bool held) {
  code.load_operands(i, p_.at(i).value);
  const accumulation sum = code.accumulation_of(i);
  const std::string name = code.accumulator_name(i);
  const std::string value = masked(code, sum.in_type(code.code(i).tensor_value(p_.at(i).value, sum.taken())), sum.identity());
  const std::string next = name + "_next";
  out_.line(fmt::format("{} = tl.broadcast_to({}, (ROWS, BLOCK))", next, value));
  if (held) {
    code.define(i, sum.finished(sum.scanned(next)), sum.result());
    return;
  }
  code.define(i, sum.finished(parenthesised(sum.merged(name, sum.scanned(next)))), sum.result());
  out_.line(fmt::format("{} = {}", name, sum.merged(name, sum.reduced(next, false))));
}

/// A reduction inside a sweep, over indices of its own.
void row_writer::nested(tile_writer& code, int i) {
  const row::row_statement& s = p_.at(i);
  const accumulation sum = code.accumulation_of(i);
  const std::string name = code.accumulator_name(i);
  out_.line(fmt::format("{} = tl.full((ROWS, BLOCK), {}, {})", name, sum.identity(), sum.type()));
  const auto before = code.known();
  for (const int c : s.bound) {
    const std::string j = p_.class_name(c);
    out_.open(fmt::format("for {} in tl.range(0, {})", j, p_.class_extent(c)));
    out_.line(fmt::format("{0} = tl.cast({0}, index)", j));
    code.where.indices[c] = {j, along_nothing};
  }
  code.define_operands(i, s.value);
  code.load_operands(i, s.value);
  out_.line(fmt::format("{} = {}", name, sum.merged(name, sum.in_type(code.code(i).tensor_value(s.value, sum.taken())))));
  for (std::size_t k = 0; k < s.bound.size(); ++k) out_.close();
  code.go_back(before);
  code.define(i, sum.finished(name), sum.result());
}

void row_writer::finish(tile_writer& code, int i, const std::string& tile) {
  const row::row_statement& s = p_.at(i);
  const accumulation sum = code.accumulation_of(i);
  if (accumulation::is_position(s.reducer)) {
    const char* function = s.reducer == reduction::argmax ? "ks_first_max" : "ks_first_min";
    code.define(i, fmt::format("{}({}, {}_at, {}).to(tl.int64)", function, tile, tile, p_.class_extent(s.bound[0])), value_class::integer);
  } else {
    code.define(i, sum.finished(sum.reduced(tile, i == overlooks_nan_)), sum.result());
  }
  if (s.stored) code.store(i);
}

// ---- the host function ----

void row_writer::start(form f, const std::string& programs, const std::string& options) {
  std::vector<std::string> arguments = kernel_arguments(p_, host_);
  if (f == form::part || f == form::finish) {
    const auto at = static_cast<std::ptrdiff_t>(simt::kernel_parameters(p_).tensors.size());
    std::vector<std::string> parts;
    for (const int i : sinks()) parts.push_back(part_name(i));
    arguments.insert(arguments.begin() + at, parts.begin(), parts.end());
  }
  out_.line(start_kernel(kernel_name(f), programs, arguments, constants(f), options));
}

void row_writer::host_function() {
  out_.open(fmt::format("def {}_group({})", p_.rows.name, fmt::join(host_arguments(p_, host_), ", ")));
  for (const std::string& line : host_names(p_, host_)) out_.line(line);
  const std::string options = fmt::format("num_warps={}", choice_.warps);
  if (plan_.sweeps.empty()) {
    host_map(options);
  } else {
    std::vector<std::string> counts = {rows_count()};
    for (const row::sweep& w : plan_.sweeps) counts.push_back(p_.product(w.over));
    for (const row::row_statement& s : p_.rows.statements)
      if (s.kind == row::role::nested) counts.push_back(p_.product(s.bound));
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    std::erase(counts, "1");
    out_.line(choose_index(p_, host_, counts));
    const std::string rows_now = rows_count(), programs = rows() == 1 ? rows_now : fmt::format("triton.cdiv({}, {})", rows_now, rows());
    if (choice_.whole > 0) {
      const std::string columns = p_.product(plan_.sweeps[0].over);
      out_.open(fmt::format("if {} <= {}", columns, choice_.whole));
      out_.line(fmt::format("width = triton.next_power_of_2({})", columns));
      out_.line(p_.rows.parallel.empty()
                    ? std::string("height = 1")
                    : fmt::format("height = min(max(1, {} // width), triton.next_power_of_2({}))", choice_.tile, rows_now));
      // Rows longer than a tile take more warps.
      const std::string warps = choice_.whole <= choice_.warps * warp_elements
                                    ? options
                                    : fmt::format("num_warps=max({}, min(16, width // {}))", choice_.warps, warp_elements);
      start(form::whole, fmt::format("triton.cdiv({}, height)", rows_now), warps);
      out_.line("return");
      out_.close();
    }
    if (choice_.split > 1)
      host_parts(options);
    else
      start(form::sweep, programs, options);
  }
  out_.close();
  out_.line("");
  out_.line("");
}

void row_writer::host_map(const std::string& options) {
  const std::vector<int>& classes = p_.rows.parallel;
  out_.line(choose_index(p_, host_, classes.empty() ? std::vector<std::string>{} : std::vector<std::string>{p_.product(classes)}));
  std::string programs = "1";
  if (across_) {
    std::vector<int> others = classes;
    std::erase(others, classes.back());
    std::erase(others, *across_);
    programs = fmt::format("triton.cdiv({}, {}) * triton.cdiv({}, {})", p_.class_extent(*across_), rows(), p_.class_extent(classes.back()),
                           block());
    if (!others.empty()) programs += " * " + p_.product(others);
  } else if (!classes.empty()) {
    programs = fmt::format("triton.cdiv({}, {})", p_.product(classes), choice_.tile);
  }
  start(form::map, programs, options);
}

void row_writer::host_parts(const std::string& options) {
  const std::string rows_now = rows_count();
  std::string device;
  for (const int t : simt::kernel_parameters(p_).tensors) device = host_.tensors[static_cast<std::size_t>(t)].name + ".device";
  for (const int i : sinks()) {
    const accumulation sum(p_.at(i).reducer, p_.at(i).nodes[static_cast<std::size_t>(p_.at(i).value)].type,
                           p_.rows.wide ? "tl.float64" : "tl.float32");
    const std::string type = sum.type() == "index"     ? "torch.int64"
                             : sum.type() == "tl.int1" ? "torch.bool"
                                                       : "torch." + sum.type().substr(3);
    out_.line(fmt::format("{0} = ks_intermediate(\"{0}\", ({1}, {2}), {3}, {4})", part_name(i), rows_now, choice_.split, type, device));
  }
  const std::string tiles = fmt::format("triton.cdiv({}, {})", rows_now, rows());
  start(form::part, fmt::format("{} * {}", tiles, choice_.split), options);
  start(form::finish, tiles, options);
}

}  // namespace kernsmith::agents::triton
