// The loops in which threads across rows sweep over what they reduce.
#include <algorithm>

#include "agents/synthesis/simt/row_simt_across.hpp"

namespace kernsmith::agents::simt {

void across_writer::sweep(lane_code& code, const row::sweep& w) {
  std::string title;
  for (const int i : w.sinks) title += (title.empty() ? "// " : "; ") + p_.at(i).text;
  out_.line(title);
  for (const int i : w.sinks)
    if (p_.at(i).kind == row::role::reduce) {
      const accumulator a = accumulator_of(p_, code, i);
      out_.line(fmt::format("{} {}[kVector];", a.type, part_name(i)));
      out_.line("#pragma unroll");
      out_.line(fmt::format("for (int l = 0; l < kVector; ++l) {}[l] = {};", part_name(i), a.initial));
    }
  for (std::size_t k = 0; k + 1 < w.over.size(); ++k)
    out_.open(fmt::format("for (ks_ix {0} = {1}; {0} < {2}; {0} += {3})", p_.class_name(w.over[k]), sweep_begin(w, k),
                          p_.class_extent(w.over[k]), sweep_step(w, k)));
  const std::size_t last = w.over.size() - 1;
  const std::string c = p_.class_name(w.over[last]), extent = p_.class_extent(w.over[last]), stride = sweep_step(w, last);
  const bool staged = loads_are_conditional(code, w);
  std::string begin = sweep_begin(w, last);
  if (staged) {
    out_.open_scope();
    out_.line(fmt::format("ks_ix start = {};", begin));
    staged_steps(code, w, c, extent, stride);
    begin = "start";
  }
  out_.line("#pragma unroll 4");
  out_.open(fmt::format("for (ks_ix {0} = {1}; {0} < {2}; {0} += {3})", c, begin, extent, stride));
  load_packs(code, statements_of(w), "");
  sweep_lanes(code, w);
  for (std::size_t k = staged ? 0 : 1; k <= w.over.size(); ++k) out_.close();
  code.forget_elements();
  for (const int i : w.sinks)
    if (p_.at(i).kind == row::role::reduce) merge_slices(code, i);
}

std::string across_writer::sweep_begin(const row::sweep& w, std::size_t loop) const {
  if (loop != shared_loop(w)) return "0";
  return splits_ > 1 ? "ks_ix(blockIdx.y) * kSlices + slice" : "slice";
}

std::string across_writer::sweep_step(const row::sweep& w, std::size_t loop) const {
  if (loop != shared_loop(w)) return "1";
  return splits_ > 1 ? "kSlices * ks_ix(gridDim.y)" : "kSlices";
}

void across_writer::sweep_lanes(lane_code& code, const row::sweep& w) {
  open_lanes();
  for (const int i : statements_of(w)) {
    if (p_.at(i).kind == row::role::reduce) {
      for (const std::string& line : take_in(p_, code, i, part_name(i) + "[l]")) out_.line(line);
      continue;
    }
    define(code, i, map_name(i));
    if (p_.at(i).stored && std::find(w.sinks.begin(), w.sinks.end(), i) != w.sinks.end()) {
      out_.open("if (live)");
      put_lane(code, i, map_name(i));
      out_.close();
    }
  }
  out_.close();
  for (const int i : w.needed)
    if (p_.at(i).kind != row::role::reduce) code.forget(i);
}

bool across_writer::loads_are_conditional(const lane_code& code, const row::sweep& w) const {
  const std::vector<int> here = statements_of(w);
  const std::vector<pack> packs = packs_of(code, here, {});
  return std::any_of(packs.begin(), packs.end(), [&](const pack& k) { return wanted_when(code, here, k).has_value(); });
}

void across_writer::staged_steps(lane_code& code, const row::sweep& w, const std::string& c, const std::string& extent,
                                 const std::string& stride) {
  constexpr int steps = 4;
  const std::vector<int> here = statements_of(w);
  const std::vector<pack> packs = packs_of(code, here, {});
  const auto open_steps = [&] {
    out_.line("#pragma unroll");
    out_.open(fmt::format("for (int step = 0; step < {}; ++step)", steps));
    out_.line(fmt::format("const ks_ix {} = start + step * ({});", c, stride));
  };
  out_.open(fmt::format("for (; start + {0} * ({1}) < {2}; start += {3} * ({1}))", steps - 1, stride, extent, steps));
  for (const pack& k : packs) {
    out_.line(fmt::format("{} {}[{}] = {{}};", pack_type(k.type), k.name, steps));
    if (wanted_when(code, here, k)) out_.line(fmt::format("bool {}_wanted[{}];", k.name, steps));
  }
  open_steps();
  for (const pack& k : packs)
    if (const std::optional<condition> when = wanted_when(code, here, k))
      out_.line(fmt::format("{}_wanted[step] = {};", k.name, code.value(when->statement, when->node, value_class::boolean)));
  out_.close();
  open_steps();
  out_.line(fmt::format("[[maybe_unused]] const ks_ix {} = first;", p_.class_name(lane_)));
  for (const pack& k : packs)
    out_.line(fmt::format("{}{}[step] = ks_fetch<kVector, kEdge, {}>(&{}, first, ks_ix({}));",
                          wanted_when(code, here, k) ? fmt::format("if ({}_wanted[step]) ", k.name) : "", k.name, stream_loads(), k.element,
                          extent_));
  out_.close();
  open_steps();
  bind(code, here, packs, "[step]");
  for (const pack& k : packs)
    if (const std::optional<condition> when = wanted_when(code, here, k)) code.ready(when->statement, when->node, k.name + "_wanted[step]");
  sweep_lanes(code, w);
  for (const pack& k : packs)
    if (const std::optional<condition> when = wanted_when(code, here, k)) code.forget_ready(when->statement, when->node);
  code.forget_elements();
  out_.close();
  out_.close();
}

std::optional<across_writer::condition> across_writer::wanted_when(const lane_code& code, const std::vector<int>& statements,
                                                                   const pack& k) const {
  int reader = -1, read = -1;
  for (const int i : statements)
    for (std::size_t n = 0; n < p_.at(i).nodes.size(); ++n) {
      if (!is_packed(p_, i, static_cast<int>(n), lane_) || code.element(i, static_cast<int>(n)) != k.element) continue;
      if (read >= 0) return std::nullopt;
      reader = i;
      read = static_cast<int>(n);
    }
  if (read < 0) return std::nullopt;
  const row::row_statement& s = p_.at(reader);
  // Nodes are trees: at most one select has the load as its second argument's own.
  const auto holds = [&](int node) {
    bool found = false;
    row::walk(s, node, [&](int under) { found = found || under == read; });
    return found;
  };
  for (const expression& e : s.nodes) {
    if (e.kind != expression_kind::call || e.op != operation::select || !holds(e.arguments[1])) continue;
    bool plain = !row::depends_on(p_.rows, s, e.arguments[0], lane_) && !holds(e.arguments[0]) && !holds(e.arguments[2]);
    row::walk(s, e.arguments[0], [&](int under) {
      const expression& part = s.nodes[static_cast<std::size_t>(under)];
      if (part.kind == expression_kind::load && p_.rows.written_by(part.symbol) >= 0) plain = false;
    });
    if (plain) return condition{reader, e.arguments[0]};
  }
  return std::nullopt;
}

}  // namespace kernsmith::agents::simt
