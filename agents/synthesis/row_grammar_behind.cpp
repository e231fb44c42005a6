// Rows that overlap: the next row's inputs are asked for, and the last sweep of a row runs inside a sweep of the next one.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/row_grammar_body.hpp"
#include "agents/synthesis/row_grammar_reduce.hpp"

namespace kernsmith::agents::row {

std::optional<deferral> find_deferral(const row_program& p, const plan& chosen) {
  if (chosen.where != lanes::inner || chosen.sweeps.size() < 2) return std::nullopt;
  const auto at = [&](int i) -> const row_statement& { return p.statements[static_cast<std::size_t>(i)]; };
  const sweep& last = chosen.sweeps.back();
  const bool maps = std::all_of(last.sinks.begin(), last.sinks.end(), [&](int i) { return at(i).kind == role::map; });
  const bool nested = std::any_of(last.needed.begin(), last.needed.end(), [&](int i) { return at(i).kind == role::nested; });
  if (!maps || nested || last.over.size() != 1 || !last.to_buffer.empty()) return std::nullopt;
  for (std::size_t k = chosen.sweeps.size() - 1; k-- > 0;) {
    const sweep& carrier = chosen.sweeps[k];
    const bool scans = std::any_of(carrier.sinks.begin(), carrier.sinks.end(), [&](int i) { return at(i).kind == role::scan; });
    if (carrier.over == last.over && carrier.stage < last.stage && !scans)
      return deferral{static_cast<int>(k), static_cast<int>(chosen.sweeps.size()) - 1};
  }
  return std::nullopt;
}

int prefetching_sweep(const row_program& p, const plan& chosen) {
  if (chosen.behind)
    if (const auto found = find_deferral(p, chosen)) return found->carrier;
  return chosen.sweeps.size() > 1 ? 1 : 0;
}

std::vector<streamed_load> next_row_loads(const row_program& p, const plan& chosen) {
  std::vector<streamed_load> found;
  if (chosen.where != lanes::inner || p.parallel.empty() || chosen.sweeps.empty()) return found;
  const sweep& first = chosen.sweeps[0];
  // A single sweep that writes as it reads keeps memory busy by itself.
  const bool reduces = std::all_of(first.sinks.begin(), first.sinks.end(),
                                   [&](int i) { return p.statements[static_cast<std::size_t>(i)].kind == role::reduce; });
  if (chosen.sweeps.size() == 1 && !reduces) return found;
  if (chosen.sweeps[static_cast<std::size_t>(prefetching_sweep(p, chosen))].over != first.over) return found;
  std::vector<int> statements = first.sinks;
  statements.insert(statements.end(), first.needed.begin(), first.needed.end());
  std::set<int> tensors;
  for (const int i : statements) {
    const row_statement& s = p.statements[static_cast<std::size_t>(i)];
    for (std::size_t n = 0; n < s.nodes.size(); ++n) {
      const expression& e = s.nodes[n];
      if (e.kind != expression_kind::load || p.written_by(e.symbol) >= 0 || s.kind == role::nested) continue;
      const bool rows =
          access_of(p, s, e, p.parallel.back()) == access::strided && access_of(p, s, e, first.over.back()) == access::contiguous;
      if (rows && tensors.insert(e.symbol).second) found.push_back({i, static_cast<int>(n)});
    }
  }
  return found;
}

void body_writer::ask_for_next_row(text_block& body, const sweep& w) {
  if (!plan_.next_row || &w != plan_.sweeps.data() + prefetching_sweep(p_, plan_)) return;
  const int row = p_.parallel.back();
  for (const streamed_load& load : next_row_loads(p_, plan_)) {
    const row_statement& s = at(load.statement);
    const std::string address =
        write_.address(s, s.nodes[static_cast<std::size_t>(load.node)], {{row, fmt::format("({} + 1)", write_.class_name(row))}});
    // What a sweep that reads memory itself asks for must not push that out of the first level.
    body.line(fmt::format("__builtin_prefetch({}, 0, {});  // the next row", address, plan_.sweeps.size() == 1 ? 2 : 3));
  }
}

bool body_writer::is_deferred(const sweep& w) const {
  return plan_.behind && &w == plan_.sweeps.data() + find_deferral(p_, plan_)->last;
}

bool body_writer::carries_deferred(const sweep& w) const {
  return plan_.behind && &w == plan_.sweeps.data() + find_deferral(p_, plan_)->carrier;
}

bool body_writer::buffered_for_deferred(int statement) const {
  if (!plan_.behind) return false;
  const std::vector<int>& read = plan_.sweeps.back().from_buffer;
  return std::find(read.begin(), read.end(), statement) != read.end();
}

deferred_sweep body_writer::deferred() {
  const sweep& w = plan_.sweeps.back();
  const int lane = w.over.back();
  text_block hoisted(1), body(2);
  lane_scope scope{nullptr, &hoisted, &body, lane, &w, {}, {}};
  step_sinks_inner(scope, w);
  deferred_sweep out;
  out.extent = write_.class_extent(lane);
  const std::string used = hoisted.text() + body.text();
  for (const row_statement& s : p_.statements) {
    const std::string name = write_.value_name(s);
    if ((s.kind == role::point || s.kind == role::reduce) && mentions_word(used, name)) out.values.emplace_back(scalar_type(s.type), name);
  }
  for (const int i : w.from_buffer) {
    const char* const element = at(i).type == value_class::real ? "real_element" : "whole_element";
    out.values.emplace_back(fmt::format("const {}*", element), write_.stem(at(i).tensor) + "_buffer");
  }
  text_block text(1);
  comment(text, w.sinks, "");
  text.append(hoisted);
  text.line(fmt::format("return [=](int64_t {}, [[maybe_unused]] int lanes, [[maybe_unused]] int u) __attribute__((always_inline)) {{",
                        write_.class_name(lane)));
  text.append(body);
  text.line("};");
  out.code = text.text();
  return out;
}

}  // namespace kernsmith::agents::row
