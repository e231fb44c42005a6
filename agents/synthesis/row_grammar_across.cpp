// Sweeps with the lanes across rows: the swept indices are serial loops, reductions stay in their lanes.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/row_grammar_body.hpp"
#include "agents/synthesis/row_grammar_reduce.hpp"

namespace kernsmith::agents::row {
namespace {

// Localities of prefetches: gathered rows are few, a block of rows is more than the first level holds.
constexpr int nearest_cache = 3, second_cache = 2;

bool scans_real_sum(const row_program& p, const row_statement& s) {
  return s.kind == role::scan && is_compensated(p, s);
}

/// Exponentials and their like are dozens of instructions: copies of them for every swept element take a compiler minutes and gain nothing.
bool calls_long_functions(const row_program& p, const sweep& w) {
  const auto is_long = [](const expression& e) {
    if (e.kind != expression_kind::call) return false;
    return (e.op >= operation::exp && e.op <= operation::expm1) || (e.op >= operation::pow && e.op <= operation::cos);
  };
  const auto has_long = [&](int i) {
    const std::vector<expression>& nodes = p.statements[static_cast<std::size_t>(i)].nodes;
    return std::any_of(nodes.begin(), nodes.end(), is_long);
  };
  return std::any_of(w.sinks.begin(), w.sinks.end(), has_long) || std::any_of(w.needed.begin(), w.needed.end(), has_long);
}

}  // namespace

void body_writer::declare_across(text_block& out, const sweep& w) {
  for (const int i : w.sinks) {
    const row_statement& s = at(i);
    const std::string name = write_.stem(s.tensor);
    const std::string type = accumulator_type(s);
    if (s.kind == role::reduce && is_compensated(p_, s)) {
      out.line(fmt::format("precise {}_sum[V];", name));
      if (blocked()) {
        out.line(fmt::format("real {}_part[V];", name));
        out.line(fmt::format("fill({}_part, splat(0.0));", name));
      }
    } else if (s.kind == role::reduce || s.kind == role::scan) {
      out.line(fmt::format("{} {}_acc[V];", type, name));
      if (through_logs(s)) {
        out.line(fmt::format("fill({}_acc, splat(kExact ? 1.0 : 0.0));", name));
        out.line(fmt::format("real {}_size[V];", name));
        out.line(fmt::format("fill({}_size, splat(0.0));", name));
      } else {
        out.line(fmt::format("fill({}_acc, {});", name, initial_lanes(s)));
      }
      if (scans_real_sum(p_, s)) {
        out.line(fmt::format("real {}_error[V];", name));
        out.line(fmt::format("fill({}_error, splat(0.0));", name));
      }
      if (is_position(s.reducer)) {
        out.line(fmt::format("whole {}_at[V];", name));
        out.line(fmt::format("fill({}_at, splat_whole(-1));", name));
      }
    }
  }
}

std::vector<std::pair<std::string, std::string>> body_writer::strip_state() const {
  std::vector<std::pair<std::string, std::string>> members;
  for (const int i : plan_.sweeps.front().sinks) {
    const row_statement& s = at(i);
    const std::string name = write_.stem(s.tensor);
    if (is_compensated(p_, s)) {
      members.emplace_back("precise", name + "_sum");
      members.emplace_back("real", name + "_part");
    } else {
      members.emplace_back(accumulator_type(s), name + "_acc");
    }
    if (is_position(s.reducer)) members.emplace_back("whole", name + "_at");
  }
  return members;
}

std::vector<std::string> body_writer::strip_merges() const {
  std::vector<std::string> lines;
  for (const int i : plan_.sweeps.front().sinks) {
    const row_statement& s = at(i);
    const std::string name = write_.stem(s.tensor);
    lines.push_back(is_compensated(p_, s) ? fmt::format("{0}_sum[v].add(other.{0}_sum[v].value());", name)
                                          : fmt::format("{0}_acc[v] = {1}({0}_acc[v], other.{0}_acc[v]);", name, merger(s)));
  }
  return lines;
}

void body_writer::step_sinks_across(lane_scope& scope, const sweep& w) {
  text_block& body = *scope.body;
  for (const int i : w.sinks) {
    const row_statement& s = at(i);
    const std::string name = write_.stem(s.tensor);
    if (s.kind == role::map) {
      const std::string value = write_.value_of(i, scope);
      store_lanes(body, s, value, s.type, scope.lane);
      continue;
    }
    if (through_logs(s)) {
      power_step(scope, s);
      continue;
    }
    const value_class type = accumulated_as(s);
    const std::string value = write_.vector(s, s.value, type, scope);
    if (is_position(s.reducer)) {
      position_step(body, s, value, w.over.back());
      continue;
    }
    if (scans_real_sum(p_, s)) {
      // Two-sum: what each addition rounds away is carried along.
      body.line(fmt::format("const real {}_term = {};", name, value));
      body.line(fmt::format("const real {0}_next = {0}_acc[v] + {0}_term, {0}_back = {0}_next - {0}_acc[v];", name));
      body.line(fmt::format("{0}_error[v] += ({0}_acc[v] - ({0}_next - {0}_back)) + ({0}_term - {0}_back);", name));
      body.line(fmt::format("{0}_acc[v] = {0}_next;", name));
    } else {
      const std::string acc = fmt::format("{}_{}[v]", name, s.kind == role::reduce && is_compensated(p_, s) ? "part" : "acc");
      body.line(fmt::format("{} = {};", acc, update_lanes(s, acc, value)));
    }
    if (s.kind != role::scan) continue;
    const std::string local = write_.fresh(write_.value_name(s));
    std::string result = name + "_acc[v]";
    if (scans_real_sum(p_, s)) {
      body.line(fmt::format("const real {0}_exact = {0}_acc[v] + {0}_error[v];", name));
      result = fmt::format("vselect({0}_exact == {0}_exact, {0}_exact, {0}_acc[v])", name);
    }
    body.line(fmt::format("const {} {} = {};", accumulator_type(s), local, write_.rounded_to_tensor(s, result, type)));
    scope.values[i] = local;
    if (s.stored) store_lanes(body, s, local, type, scope.lane);
  }
  put_in_buffers(scope, w);
}

/// One factor pow(u, a) of a product: as a power, or as a term a * log(u) of the product's logarithm.
void body_writer::power_step(lane_scope& scope, const row_statement& s) {
  const std::string name = write_.stem(s.tensor);
  const expression& power = s.nodes[static_cast<std::size_t>(s.value)];
  const std::string base = write_.vector(s, power.arguments[0], value_class::real, scope);
  const std::string exponent = write_.vector(s, power.arguments[1], value_class::real, scope);
  for (const char* piece : {"pow", "log", "exp"}) write_.preludes.insert(piece);
  text_block& body = *scope.body;
  body.line(fmt::format("const real {}_base = {};", name, base));
  body.line("if constexpr (kExact) {");
  body.line(fmt::format("{0}_acc[v] = {0}_acc[v] * vpow({0}_base, {1});", name, exponent), 1);
  body.line("} else {");
  body.line(fmt::format("const real {0}_term = {1} * vlog({0}_base);", name, exponent), 1);
  body.line(fmt::format("{0}_acc[v] = {0}_acc[v] + {0}_term;", name), 1);
  body.line(fmt::format("{0}_size[v] = {0}_size[v] + vabs({0}_term);", name), 1);
  body.line("}");
}

/// Logarithms of numbers that aren't positive are NaN or infinite, which no comparison lets through either.
void body_writer::check_logs(text_block& out, const sweep& w) {
  if (std::none_of(w.sinks.begin(), w.sinks.end(), [&](int i) { return through_logs(at(i)); })) return;
  out.line("if constexpr (!kExact) {");
  out.line("whole beyond = splat_whole(0);", 1);
  for (const int i : w.sinks)
    if (through_logs(at(i)))
      out.line(fmt::format("for (int v = 0; v < V; ++v) beyond |= ~(combine(crew, {}_size[v], add) <= splat({}));",
                           write_.stem(at(i).tensor), real_literal(largest_log_sum)),
               1);
  out.line(fmt::format("if (vany(beyond)) return {};", restart_call), 1);
  out.line("}");
}

void body_writer::finish_across(text_block& out, const sweep& w) {
  text_block body(out.depth() + 1);
  lane_scope scope{nullptr, &body, &body, plan_.lane, nullptr, {}, {}};
  for (const int i : w.sinks) {
    const row_statement& s = at(i);
    if (s.kind != role::reduce) continue;
    const std::string name = write_.stem(s.tensor);
    const value_class type = is_position(s.reducer) ? value_class::integer : accumulated_as(s);
    std::string mine = name + "_acc[v]";
    if (is_position(s.reducer))
      mine = fmt::format("vmax({}_at[v], splat_whole(0))", name);
    else if (is_compensated(p_, s))
      mine = name + "_sum[v].value()";
    if (through_logs(s))
      mine = fmt::format("(kExact ? combine(crew, {0}, multiply) : vexp(combine(crew, {0}, add)))", mine);
    else if (!is_position(s.reducer)) {
      out.line(fmt::format("{} {}_mine[V];", accumulator_type(s), name));
      out.line(fmt::format("for (int v = 0; v < V; ++v) {}_mine[v] = {};", name, mine));
      out.line(fmt::format("combine_strip(crew, {}_mine, {});", name, merger(s)));
      mine = name + "_mine[v]";
    }
    const std::string value = write_.rounded_to_tensor(s, expression_writer::convert_lanes(mine, type, s.type), s.type);
    const bool kept = read_later(i);
    const std::string target = kept ? write_.value_name(s) + "[v]" : write_.value_name(s);
    if (kept) out.line(fmt::format("{} {}[V];", s.type == value_class::real ? "real" : "whole", write_.value_name(s)));
    body.line(fmt::format("{}{} = {};", kept ? "" : s.type == value_class::real ? "const real " : "const whole ", target, value));
    if (s.stored) {
      body.line("if (crew.rank == 0) {");
      text_block guarded(body.depth() + 1);
      store_lanes(guarded, s, target, s.type, plan_.lane);
      body.append(guarded);
      body.line("}");
    }
  }
  if (body.text().empty()) return;
  out.line("#pragma GCC unroll 8");
  out.line("for (int v = 0; v < V; ++v) {");
  out.line(fmt::format("[[maybe_unused]] const int64_t {} = first + v * W;", write_.class_name(plan_.lane)), 1);
  out.append(body);
  out.line("}");
}

/// Rows that lie far apart, or are found through an index tensor, escape the hardware's prefetchers: ask for those of later steps now.
void body_writer::prefetch(text_block& hoisted, const sweep& w) {
  if (plan_.prefetch <= 0) return;
  const int inner = w.over.back();
  const std::string ahead = fmt::format("{} + {}", write_.class_name(inner), plan_.prefetch);
  for (const int i : w.sinks) {
    const row_statement& s = at(i);
    for (const expression& e : s.nodes) {
      if (e.kind != expression_kind::load || p_.written_by(e.symbol) >= 0) continue;
      const access step = access_of(p_, s, e, inner);
      if ((step != access::indirect && step != access::strided) || access_of(p_, s, e, plan_.lane) != access::contiguous) continue;
      const index_names names = {{inner, "(" + ahead + ")"}, {plan_.lane, "first"}};
      // An address may be asked for beyond the end, an index may not be read there.
      if (step == access::indirect) hoisted.line(fmt::format("if ({} < {}_end)", ahead, write_.class_name(inner)));
      hoisted.line(fmt::format("for (int v = 0; v < V; ++v) __builtin_prefetch({} + v * W, 0, {});", write_.address(s, e, names),
                               step == access::indirect ? nearest_cache : second_cache),
                   1);
    }
  }
}

/// A strip goes on where its last block ended. Compensated totals stay in memory but for the blocks that add to them.
void body_writer::take_up(text_block& out, const sweep& w) {
  out.line("if (!starts) {");
  for (const auto& [type, name] : strip_state())
    if (type != "precise") out.line(fmt::format("copy({0}, state.{0});", name), 1);
  out.line("} else {");
  for (const int i : w.sinks)
    if (is_compensated(p_, at(i))) out.line(fmt::format("copy(state.{0}_sum, {0}_sum);", write_.stem(at(i).tensor)), 1);
  out.line("}");
}

void body_writer::leave(text_block& out, const sweep& w) {
  std::vector<std::string> sums;
  for (const int i : w.sinks)
    if (is_compensated(p_, at(i))) sums.push_back(write_.stem(at(i).tensor));
  const auto put_down = [&](bool totals) {
    for (const auto& [type, name] : strip_state())
      if (totals || type != "precise") out.line(fmt::format("copy(state.{0}, {0});", name), 1);
    out.line("return;", 1);
    out.line("}");
  };
  if (!sums.empty()) {
    out.line("if (!adds_up) {");
    put_down(false);
    for (const std::string& name : sums) {
      out.line(fmt::format("copy({0}_sum, state.{0}_sum);", name));
      out.line(fmt::format("for (int v = 0; v < V; ++v) {0}_sum[v].add({0}_part[v]);", name));
      out.line(fmt::format("fill({}_part, splat(0.0));", name));
    }
  }
  out.line("if (!ends) {");
  put_down(true);
}

void body_writer::sweep_across(text_block& out, const sweep& w) {
  comment(out, w.sinks, "");
  declare_across(out, w);
  if (blocked()) take_up(out, w);
  const bool split =
      std::none_of(w.sinks.begin(), w.sinks.end(), [&](int i) { return at(i).kind == role::scan || is_position(at(i).reducer); });
  const auto compensated = [&](int i) { return at(i).kind == role::reduce && is_compensated(p_, at(i)); };
  const bool in_parts = !blocked() && std::any_of(w.sinks.begin(), w.sinks.end(), compensated);
  out.line("{");
  int depth = out.depth() + 1;
  const auto put = [&](const std::string& text) {
    text_block one(depth);
    one.line(text);
    out.append(one);
  };
  const std::string first_extent = write_.class_extent(w.over.front());
  const std::string whole = fmt::format("range{{0, {}}}", first_extent), shared = fmt::format("share(crew, {}, 1)", first_extent);
  const bool fixed = plan_.fixed > 0 && plan_.fixed_class == w.over.front();
  if (!blocked())
    put(fmt::format("const range part = {};", !split ? whole : fixed ? fmt::format("kFixed > 0 ? {} : {}", whole, shared) : shared));
  const int innermost = depth + static_cast<int>(w.over.size()) + (in_parts ? 1 : 0);
  const bool unrolled = plan_.fixed > 0 && plan_.fixed_class == w.over.back();
  const std::int64_t copies = calls_long_functions(p_, w) ? 1 : plan_.fixed;
  text_block before(depth), hoisted(innermost), body(innermost + 1);
  lane_scope scope{&before, &hoisted, &body, plan_.lane, &w, {}, {}};
  step_sinks_across(scope, w);
  prefetch(hoisted, w);
  out.append(before);
  int opened = 0;
  for (std::size_t k = 0; k < w.over.size(); ++k) {
    const std::string name = write_.class_name(w.over[k]);
    const std::string from = k == 0 ? "part.begin" : "0", to = k == 0 ? "part.end" : write_.class_extent(w.over[k]);
    if (k + 1 < w.over.size()) {
      put(fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0}) {{", name, from, to));
    } else if (in_parts) {
      put(fmt::format("for (int64_t {0}_block = {1}; {0}_block < {2}; {0}_block += {3}) {{", name, from, to, across_block));
      ++depth;
      ++opened;
      put(fmt::format("const int64_t {0}_end = std::min<int64_t>({1}, {0}_block + {2});", name, to, across_block));
      for (const int i : w.sinks)
        if (compensated(i)) {
          put(fmt::format("real {}_part[V];", write_.stem(at(i).tensor)));
          put(fmt::format("fill({}_part, splat(0.0));", write_.stem(at(i).tensor)));
        }
      if (unrolled) put(fmt::format("#pragma GCC unroll {}", copies));
      put(fmt::format("for (int64_t {0} = {0}_block; {0} < {0}_end; ++{0}) {{", name));
    } else {
      put(fmt::format("const int64_t {}_end = {};", name, to));
      if (unrolled) put(fmt::format("#pragma GCC unroll {}", copies));
      put(fmt::format("for (int64_t {0} = {1}; {0} < {0}_end; {2}) {{", name, from,
                      blocked() && plan_.apart ? name + " += step" : "++" + name));
    }
    ++depth;
    ++opened;
  }
  out.append(hoisted);
  put("#pragma GCC unroll 8");
  put("for (int v = 0; v < V; ++v) {");
  ++depth;
  put(fmt::format("[[maybe_unused]] const int64_t {} = first + v * W;", write_.class_name(plan_.lane)));
  --depth;
  out.append(body);
  put("}");
  for (; opened > 0; --opened) {
    --depth;
    put("}");
    if (in_parts && opened == static_cast<int>(w.over.size()) + 1)
      for (const int i : w.sinks)
        if (compensated(i)) put(fmt::format("for (int v = 0; v < V; ++v) {0}_sum[v].add({0}_part[v]);", write_.stem(at(i).tensor)));
  }
  out.line("}");
  if (blocked()) leave(out, w);
  check_logs(out, w);
  finish_across(out, w);
}

}  // namespace kernsmith::agents::row
