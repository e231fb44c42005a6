// What rows and strips have in common: stages, row values, stores.
#include "agents/synthesis/row_grammar_body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "agents/synthesis/prelude.hpp"
#include "agents/synthesis/row_grammar_reduce.hpp"

namespace kernsmith::agents::row {
namespace {

// Row buffers that alternate lie half a page apart, so that their stores don't look like the other's loads to the processor.
constexpr int page_bytes = 4096;

}  // namespace

bool mentions_word(const std::string& text, const std::string& word) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !is_word(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !is_word(text[at + word.size()]);
    if (starts && ends) return true;
  }
  return false;
}

int body_writer::last_stage() const {
  int last = 0;
  for (const int s : plan_.stage) last = std::max(last, s);
  for (const sweep& w : plan_.sweeps) last = std::max(last, w.stage);
  return last;
}

bool body_writer::read_later(int statement) const {
  return std::any_of(p_.statements.begin(), p_.statements.end(), [&](const row_statement& reader) {
    return std::any_of(reader.nodes.begin(), reader.nodes.end(),
                       [&](const expression& e) { return e.kind == expression_kind::load && e.symbol == at(statement).tensor; });
  });
}

void body_writer::comment(text_block& out, const std::vector<int>& statements, const std::string& title) const {
  std::string text = title;
  for (const int i : statements) {
    if (at(i).text.empty()) continue;
    std::string one = at(i).text;
    std::replace(one.begin(), one.end(), '\n', ' ');
    text += (text.empty() ? "" : "\n// ") + one;
  }
  if (!text.empty()) out.line("// " + text);
}

void body_writer::declare_buffers(text_block& out) {
  int which = 0;
  for (const sweep& w : plan_.sweeps)
    for (const int i : w.to_buffer) {
      const row_statement& s = at(i);
      const char* const element = s.type == value_class::real ? "real_element" : "whole_element";
      std::string count;
      for (const int c : w.over) count += (count.empty() ? "" : " * ") + write_.class_extent(c);
      count += plan_.where == lanes::across ? " * V * W" : " + W";
      const std::string stem = write_.stem(s.tensor);
      if (buffered_for_deferred(i)) {
        const int page = page_bytes / (p_.wide ? 8 : 4);
        out.line(fmt::format("const int64_t {0}_half = ({1} + {2}) / {3} * {3} + {4};", stem, count, page - 1, page, page / 2));
        out.line(
            fmt::format("{0}* const {1}_buffer = row_buffer<{2}, {0}>(2 * {1}_half) + waiting.turn * {1}_half;", element, stem, which++));
      } else {
        out.line(fmt::format("{0}* const {1}_buffer = row_buffer<{2}, {0}>({3});", element, stem, which++, count));
      }
    }
}

void body_writer::store_scalar(text_block& out, const row_statement& s) {
  const dtype type = p_.tensor(s.tensor).type;
  const std::string storage = storage_type(type);
  const std::string name = write_.value_name(s);
  std::string value;
  if (type == dtype::boolean)
    value = expression_writer::convert_scalar(name, s.type, value_class::boolean);
  else if (is_float(type) || s.type == value_class::real)
    value = fmt::format("from_double<{}>({})", storage, expression_writer::convert_scalar(name, s.type, value_class::real));
  else
    value = fmt::format("{}({})", storage, name);
  out.line(fmt::format("if (crew.rank == 0) *({}) = {};", write_.target_address(s), value));
}

void body_writer::store_lanes(text_block& out, const row_statement& s, const std::string& value, value_class type, int lane) {
  const dtype stored = p_.tensor(s.tensor).type;
  const bool as_real = type == value_class::real || is_float(stored);
  std::string text = value;
  if (stored == dtype::boolean)
    text = "(-" + expression_writer::convert_lanes(value, type, value_class::boolean) + ")";
  else if (as_real)
    text = expression_writer::convert_lanes(value, type, value_class::real);
  else
    text = expression_writer::convert_lanes(value, type, value_class::integer);
  const bool real = as_real && stored != dtype::boolean;
  if (s.target.back() == lane) {
    const char* const function = !real ? "store_whole" : streamable(p_, plan_, s) ? "store<kStream>" : "store";
    out.line(fmt::format("{}({}, {}, lanes);", function, write_.target_address(s), text));
    return;
  }
  const index_names shifted = {{lane, fmt::format("({} + l)", write_.class_name(lane))}};
  const std::string name = write_.fresh(write_.stem(s.tensor) + "_lanes");
  const std::string storage = storage_type(stored);
  out.line(fmt::format("const {} {} = {};", real ? "real" : "whole", name, text));
  const std::string element =
      !real ? fmt::format("{}({}[l])", storage, name) : fmt::format("from_double<{}>(double({}[l]))", storage, name);
  out.line(fmt::format("for (int l = 0; l < lanes; ++l) *({}) = {};", write_.target_address(s, shifted), element));
}

void body_writer::put_in_buffers(lane_scope& scope, const sweep& w) {
  for (const int i : w.to_buffer) {
    const std::string name = write_.value_of(i, scope);
    const bool real = at(i).type == value_class::real;
    scope.body->line(fmt::format("{}({}, {}, {});", real ? "store" : "store_whole", write_.buffer_address(i, scope), name,
                                 plan_.where == lanes::across ? "W" : "lanes"));
  }
}

void body_writer::points_inner(text_block& out, int stage) {
  for (std::size_t i = 0; i < p_.statements.size(); ++i) {
    const row_statement& s = p_.statements[i];
    if (s.kind != role::point || plan_.stage[i] != stage) continue;
    comment(out, {static_cast<int>(i)}, "");
    const std::string value = write_.rounded_scalar(s, write_.scalar(s, s.value, s.type));
    out.line(fmt::format("const {} {} = {};", scalar_type(s.type), write_.value_name(s), value));
    if (s.stored) store_scalar(out, s);
  }
}

void body_writer::points_across(text_block& out, int stage) {
  std::vector<int> in_lanes;
  for (std::size_t i = 0; i < p_.statements.size(); ++i) {
    const row_statement& s = p_.statements[i];
    if (s.kind != role::point || plan_.stage[i] != stage) continue;
    if (write_.in_lanes(s)) {
      in_lanes.push_back(static_cast<int>(i));
      if (read_later(static_cast<int>(i)))
        out.line(fmt::format("{} {}[V];", s.type == value_class::real ? "real" : "whole", write_.value_name(s)));
      continue;
    }
    out.line(fmt::format("const {} {} = {};", scalar_type(s.type), write_.value_name(s),
                         write_.rounded_scalar(s, write_.scalar(s, s.value, s.type))));
  }
  if (in_lanes.empty()) return;
  comment(out, in_lanes, "");
  text_block hoisted(out.depth()), body(out.depth() + 1);
  lane_scope scope{nullptr, &hoisted, &body, plan_.lane, nullptr, {}, {}};
  for (const int i : in_lanes) {
    const row_statement& s = at(i);
    const std::string value = write_.point_value(i, scope);
    if (!read_later(i)) {
      store_lanes(body, s, value, s.type, plan_.lane);
      continue;
    }
    const std::string name = write_.value_name(s) + "[v]";
    body.line(fmt::format("{} = {};", name, write_.rounded_to_tensor(s, value, s.type)));
    if (s.stored) store_lanes(body, s, name, s.type, plan_.lane);
  }
  out.append(hoisted);
  out.line("#pragma GCC unroll 8");
  out.line("for (int v = 0; v < V; ++v) {");
  out.line(fmt::format("const int64_t {} = first + v * W;", write_.class_name(plan_.lane)), 1);
  out.append(body);
  out.line("}");
}

std::string body_writer::row() {
  text_block out(1);
  declare_buffers(out);
  for (int stage = 0; stage <= last_stage(); ++stage) {
    points_inner(out, stage);
    for (const sweep& w : plan_.sweeps)
      if (w.stage == stage + 1 && !is_deferred(w)) sweep_inner(out, w);
  }
  if (plan_.behind) {
    std::string values;
    for (const auto& [type, name] : deferred().values) values += ", " + name;
    out.line(fmt::format("waiting = {{true, 1 - waiting.turn, row_number{}}};", values));
  }
  return out.text();
}

std::string body_writer::strip() {
  text_block out(1);
  declare_buffers(out);
  for (int stage = 0; stage <= last_stage(); ++stage) {
    points_across(out, stage);
    for (const sweep& w : plan_.sweeps)
      if (w.stage == stage + 1) sweep_across(out, w);
  }
  return out.text();
}

}  // namespace kernsmith::agents::row
