#include "agents/synthesis/triton/triton_tile.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kernsmith::agents::triton {

using simt::simt_program;

tile_writer::tile_writer(const simt_program& p, bool wide, python_writer& out) : p_(p), out_(out) {
  code_.reserve(static_cast<std::size_t>(p.count()));
  for (int i = 0; i < p.count(); ++i)
    code_.emplace_back(p.flat, p.flat.statements[static_cast<std::size_t>(i)], wide, where,
                       [this, i](int node) { return at_hand(i, node); });
}

std::optional<std::string> tile_writer::at_hand(int i, int node) const {
  const int from = p_.rows.written_by(p_.at(i).nodes[static_cast<std::size_t>(node)].symbol);
  if (from >= 0) {
    const auto value = hand_.values.find(from);
    return value == hand_.values.end() ? std::nullopt : std::optional(value->second);
  }
  if (hand_.elements.empty()) return std::nullopt;
  const auto element = hand_.elements.find(code(i).loaded(node));
  return element == hand_.elements.end() ? std::nullopt : std::optional(element->second);
}

void tile_writer::load_operands(int i, int node) {
  const row::row_statement& s = p_.at(i);
  row::walk(s, node, [&](int id) {
    const expression& e = s.nodes[static_cast<std::size_t>(id)];
    if (e.kind != expression_kind::load || p_.rows.written_by(e.symbol) >= 0) return;
    const std::string text = code(i).loaded(id);
    if (hand_.elements.contains(text)) return;
    const int number = hand_.numbered[e.symbol]++;
    const std::string name = fmt::format("{}_tile{}", p_.stem(e.symbol), number == 0 ? "" : std::to_string(number));
    out_.line(fmt::format("{} = {}", name, text));
    hand_.elements[text] = name;
  });
}

accumulation tile_writer::accumulation_of(int i) const {
  const row::row_statement& s = p_.at(i);
  return {s.reducer, s.nodes[static_cast<std::size_t>(s.value)].type, code(i).real_type()};
}

void tile_writer::define(int i, const std::string& value, value_class of) {
  const tensor_declaration& tensor = p_.tensor(p_.at(i).tensor);
  const std::string name = value_name(i);
  out_.line(fmt::format("{} = {}", name, value));
  const value_class want = simt::class_of(tensor.type);
  const bool rounds = tensor.role == tensor_role::intermediate && tensor.type_declared;
  std::string seen = name;
  if (rounds)
    seen = code(i).rounded(name, of, tensor.type);
  else if (of != want)
    seen = want == value_class::boolean ? name + " != 0" : fmt::format("{}.to({})", name, code(i).type_text(want));
  if (seen != name) out_.line(fmt::format("{} = {}", name, seen));
  know(i, name);
}

void tile_writer::define_operands(int i, int node) {
  const row::row_statement& s = p_.at(i);
  row::walk(s, node, [&](int id) {
    const expression& e = s.nodes[static_cast<std::size_t>(id)];
    if (e.kind != expression_kind::load) return;
    const int from = p_.rows.written_by(e.symbol);
    if (from < 0 || knows(from)) return;
    const row::row_statement& producer = p_.at(from);
    define_operands(from, producer.value);
    load_operands(from, producer.value);
    define(from, code(from).named_value(producer.value, producer.type), producer.type);
  });
}

void tile_writer::store(int i) {
  out_.line(code(i).store(value_name(i), simt::class_of(p_.tensor(p_.at(i).tensor).type)));
}

void tile_writer::number_indices(const std::vector<int>& classes, const std::string& number, const std::string& value, tile_axes axes) {
  if (classes.size() == 1) {
    out_.line(fmt::format("{} = {}", p_.class_name(classes[0]), value));
    where.indices[classes[0]] = {p_.class_name(classes[0]), axes};
    return;
  }
  out_.line(fmt::format("{} = {}", number, value));
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const int c = classes[k];
    const std::string after = p_.product({classes.begin() + static_cast<std::ptrdiff_t>(k) + 1, classes.end()});
    std::string text = number;
    if (k + 1 < classes.size()) text += " // " + (k + 2 < classes.size() ? "(" + after + ")" : after);
    if (k > 0) text += " % " + p_.class_extent(c);
    out_.line(fmt::format("{} = {}", p_.class_name(c), text));
    where.indices[c] = {p_.class_name(c), axes};
  }
}

std::vector<std::string> kernel_arguments(const simt_program& p, const tensor_ir& host) {
  std::vector<std::string> all;
  const function_parameters parameters = simt::kernel_parameters(p);
  for (const int t : parameters.tensors) all.push_back(host.tensors[static_cast<std::size_t>(t)].name);
  for (const int a : parameters.axes) all.push_back(p.flat.axes[static_cast<std::size_t>(a)].name);
  return all;
}

std::vector<std::string> host_arguments(const simt_program& p, const tensor_ir& host) {
  std::vector<std::string> all;
  const function_parameters parameters = simt::host_parameters(p);
  for (const int t : parameters.tensors) all.push_back(host.tensors[static_cast<std::size_t>(t)].name);
  for (const int a : parameters.axes) all.push_back(host.axes[static_cast<std::size_t>(a)].name);
  return all;
}

std::vector<std::string> host_names(const simt_program& p, const tensor_ir& host) {
  std::vector<std::string> lines;
  for (const int a : simt::host_parameters(p).axes) {
    const std::string &named = p.flat.axes[static_cast<std::size_t>(a)].name, &axis = host.axes[static_cast<std::size_t>(a)].name;
    if (named != axis) lines.push_back(fmt::format("{} = {}", named, axis));
  }
  for (const simt::derived_axis& d : p.derived)
    lines.push_back(fmt::format("{} = {}", p.flat.axes[static_cast<std::size_t>(d.axis)].name, d.product));
  return lines;
}

std::string choose_index(const simt_program& p, const tensor_ir& host, const std::vector<std::string>& counts) {
  std::vector<std::string> tensors;
  for (const int t : simt::kernel_parameters(p).tensors) tensors.push_back(host.tensors[static_cast<std::size_t>(t)].name);
  return choose_index(tensors, counts);
}

std::optional<analysis> analyse(const tensor_ir& ir, const fusion_group& group) {
  analysis made;
  made.ir = std::make_unique<const tensor_ir>(with_python_names(ir));
  std::optional<simt_program> p = simt::analyse_simt(*made.ir, group);
  if (!p) return std::nullopt;
  made.p = std::move(*p);
  return made;
}

}  // namespace kernsmith::agents::triton
