#include "agents/synthesis/opencl/opencl_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/opencl/opencl_row_writer.hpp"
#include "agents/synthesis/simt/row_simt.hpp"

namespace kernsmith::agents::opencl {

using simt::simt_program;

namespace {

bool reads_buffers(const row::plan& plan) {
  return std::any_of(plan.sweeps.begin(), plan.sweeps.end(), [](const row::sweep& w) { return !w.from_buffer.empty(); });
}

}  // namespace

bool finds_positions(const simt_program& p) {
  return std::any_of(p.rows.statements.begin(), p.rows.statements.end(), [](const row::row_statement& s) {
    return s.kind == row::role::reduce && (s.reducer == reduction::argmax || s.reducer == reduction::argmin);
  });
}

bool has_scan(const simt_program& p) {
  return std::any_of(p.rows.statements.begin(), p.rows.statements.end(),
                     [](const row::row_statement& s) { return s.kind == row::role::scan; });
}

std::optional<int> along_class(const simt_program& p) {
  const row::plan plan = row::schedule(p.rows, row::plan_with(row::lanes::inner));
  if (plan.sweeps.empty() || reads_buffers(plan)) return std::nullopt;
  for (const row::sweep& w : plan.sweeps)
    if (w.over.size() != 1 || w.over[0] != plan.sweeps[0].over[0]) return std::nullopt;
  return plan.sweeps[0].over[0];
}

std::optional<int> across_class(const simt_program& p) {
  if (!row::lanes_possible(p.rows, row::lanes::across)) return std::nullopt;
  const row::plan plan = row::schedule(p.rows, row::plan_with(row::lanes::across));
  if (reads_buffers(plan)) return std::nullopt;
  if (!plan.sweeps.empty()) return plan.lane;
  // Maps write whole vectors, whatever they read.
  for (int i = p.count(); i-- > 0;)
    if (p.at(i).stored && !p.at(i).target.empty()) return p.at(i).target.back();
  return plan.lane;
}

std::optional<int> tall_class(const simt_program& p) {
  const std::optional<int> lane = across_class(p);
  if (!lane) return std::nullopt;
  std::optional<int> best;
  int most = 0;
  for (const int c : p.rows.parallel) {
    if (c == *lane || p.typical({c}) < 2) continue;
    int shared = 0;
    for (const row::row_statement& s : p.rows.statements) {
      if (s.kind != row::role::reduce) continue;
      for (const expression& e : s.nodes)
        if (e.kind == expression_kind::load && p.rows.written_by(e.symbol) < 0 && row::access_of(p.rows, s, e, c) == row::access::absent &&
            row::access_of(p.rows, s, e, *lane) != row::access::absent)
          ++shared;
    }
    if (shared > most) best = c;
    most = std::max(most, shared);
  }
  return best;
}

row_kernel write_rows(const simt_program& p, const tensor_ir& host, const row_choice& choice) {
  return choice.across ? across_writer(p, host, choice).run() : along_writer(p, host, choice).run();
}

// ---- what both placements share ----

row_writer::row_writer(const simt_program& p, const tensor_ir& host, const row_choice& choice, int lane)
    : p_(p), host_(host), choice_(choice), lane_(lane), name_(p.rows.name) {
  plan_ = row::schedule(p.rows, row::plan_with(choice.across ? row::lanes::across : row::lanes::inner));
}

lane_code row_writer::lanes(std::int64_t width) const {
  lane_code code(p_, lane_, width);
  if (choice_.fast_powers) code.use_fast_powers();
  return code;
}

std::string row_writer::work_groups(const std::string& items) const {
  return choice_.group == 1 ? items : fmt::format("({} + {}) / {}", items, choice_.group - 1, choice_.group);
}

void row_writer::open_kernel(const std::string& title, std::int64_t group) {
  out_.line(title);
  for (int i = 0; i < p_.count(); ++i) out_.line("//   " + p_.at(i).text);
  out_.open(kernel_head(kernel_name(), group, p_.flat, simt::kernel_parameters(p_), simt::all_statements(p_)));
}

std::string row_writer::command(const std::string& groups) const {
  std::string lines;
  const std::size_t own = host_.axes.size();
  for (const int a : simt::host_parameters(p_).axes) {
    const std::string &named = p_.flat.axes[static_cast<std::size_t>(a)].name, &axis = host_.axes[static_cast<std::size_t>(a)].name;
    if (named != axis) lines += fmt::format("  [[maybe_unused]] const int64_t {} = {};\n", named, axis);
  }
  for (const std::string& line : simt::derive_axes(p_)) lines += fmt::format("  {}\n", line);
  std::string arguments;
  const function_parameters parameters = simt::kernel_parameters(p_);
  for (const int t : parameters.tensors) arguments += ", " + host_.tensors[static_cast<std::size_t>(t)].name;
  for (const int a : parameters.axes) {
    const auto at = static_cast<std::size_t>(a);
    arguments += ", " + (at < own ? host_.axes[at].name : p_.flat.axes[at].name);
  }
  const std::string run = fmt::format("ks_commands.run(\"{}\", {{{}}}{});\n", kernel_name(), groups, arguments);
  return lines.empty() ? run : fmt::format("{{\n{}  {}}}\n", lines, run);
}

std::vector<int> row_writer::statements_of(const row::sweep& w) {
  std::set<int> all(w.needed.begin(), w.needed.end());
  all.insert(w.sinks.begin(), w.sinks.end());
  return {all.begin(), all.end()};
}

bool row_writer::is_point(int i, int stage) const {
  return p_.at(i).kind == row::role::point && plan_.stage[static_cast<std::size_t>(i)] == stage;
}

void row_writer::define(lane_code& code, int i, const std::string& name, const std::string& value, value_class of) {
  out_.line(fmt::format("const {} {} = {};", code.type(code.seen_class(i)), name, code.seen(i, value, of)));
  code.know(i, name, true);
}

void row_writer::store(const lane_code& code, int i, const std::string& name) {
  for (const std::string& line : code.store(i, name)) out_.line(line);
}

/// A reduction inside a sweep, over indices of its own.
void row_writer::define_nested(lane_code& code, int i, const std::string& name) {
  const accumulation sum = accumulation_of(i);
  sum.declare(out_, code, name + "_so_far");
  for (const int c : p_.at(i).bound) out_.open(fmt::format("for (ks_ix {0} = 0; {0} < {1}; ++{0})", p_.class_name(c), p_.class_extent(c)));
  sum.take(out_, code, name + "_so_far");
  for (std::size_t k = 0; k < p_.at(i).bound.size(); ++k) out_.close();
  define(code, i, name, sum.finished(code, name + "_so_far"), sum.result());
}

/// What a sweep does with one vector of elements; accumulators are called accumulator_name(i) + suffix.
void row_writer::step(lane_code& code, const row::sweep& w, const std::string& suffix, const std::string& accumulator_suffix) {
  for (const int i : statements_of(w)) {
    const row::row_statement& s = p_.at(i);
    const bool sinks = std::find(w.sinks.begin(), w.sinks.end(), i) != w.sinks.end();
    const std::string name = value_name(i) + suffix, so_far = accumulator_name(i) + accumulator_suffix;
    if (s.kind == row::role::reduce) {
      accumulation_of(i).take(out_, code, so_far);
      continue;
    }
    if (s.kind == row::role::nested) {
      define_nested(code, i, name);
    } else if (s.kind == row::role::scan) {
      const accumulation sum = accumulation_of(i);
      sum.take(out_, code, so_far);
      define(code, i, name, sum.finished(code, so_far), sum.of());
    } else {
      // Maps over indices that this sweep doesn't number are computed inside what does.
      const bool here =
          std::all_of(s.swept.begin(), s.swept.end(), [&](int c) { return std::find(w.over.begin(), w.over.end(), c) != w.over.end(); });
      if (!here) continue;
      define(code, i, name, code.value(i, s.value, s.type), s.type);
    }
    if (sinks && s.stored) store(code, i, name);
  }
}

void row_writer::forget_swept(lane_code& code, const row::sweep& w) const {
  for (const int i : statements_of(w))
    if (p_.at(i).kind != row::role::reduce) code.forget(i);
}

void row_writer::title(const row::sweep& w) {
  std::string text;
  for (const int i : w.sinks) text += (text.empty() ? "// " : "; ") + p_.at(i).text;
  out_.line(text);
}

}  // namespace kernsmith::agents::opencl
