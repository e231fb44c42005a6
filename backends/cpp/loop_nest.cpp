#include "backends/cpp/loop_nest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kernsmith::cpp {

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}
variable_set bit(int variable) {
  return variable_set{1} << variable;
}

std::string loop_head(const nest_task& task, int variable, const bindings& b) {
  const std::string& name = b.variables[at(variable)];
  return fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", name, task.extent(variable));
}

/// argmax and argmin: the first position whose value no other exceeds, counted row-major over the bound indices.
void write_argument_update(code_text& code, const nest_task& task, int node, const bindings& b, const std::string& name) {
  const expression& e = task.s.nodes[at(node)];
  const value_type type = task.expressions.type_of(e.arguments[0]);
  const std::string position = [&] {
    std::string text;
    for (int variable : e.bound) {
      const std::string& index = b.variables[at(variable)];
      text = text.empty() ? index : fmt::format("({}) * {} + {}", text, task.extent(variable), index);
    }
    return text;
  }();
  const std::string shown = type == value_type::boolean ? "int64_t" : type_text(type);
  code.line(fmt::format("const {} {}_next = {};", shown, name, task.expressions.value(e.arguments[0], b)));
  code.open(fmt::format("if ({0}_at < 0 || {0}_next {1} {0}_best)", name, e.reducer == reduction::argmax ? ">" : "<"));
  code.line(fmt::format("{0}_best = {0}_next;", name));
  code.line(fmt::format("{}_at = {};", name, position));
  code.close();
}

/// Scans that a carried variable can't serve: nested in a reduction or another scan, or along more than one index.
bool scans_need_temporaries(const nest_task& task) {
  int along = -1;
  for (int node : task.expressions.reductions_under(task.s.root)) {
    const expression& e = task.s.nodes[at(node)];
    if (e.kind == expression_kind::scan) {
      if (along >= 0 && along != e.bound[0]) return true;
      along = e.bound[0];
    }
    for (int inner : task.expressions.reductions_under(node)) {
      if (inner != node && task.s.nodes[at(inner)].kind == expression_kind::scan) return true;
    }
  }
  return false;
}

/// Each scan in order of nesting, whole, into a temporary with one dimension per index it depends on.
void write_scan_temporaries(code_text& code, const nest_task& task, bindings& b) {
  for (int node : task.expressions.reductions_under(task.s.root)) {
    const expression& e = task.s.nodes[at(node)];
    if (e.kind != expression_kind::scan) continue;
    const variable_set depends = task.expressions.depends_on(node);
    std::vector<int> order;
    for (int v = 0; v < static_cast<int>(task.s.variables.size()); ++v) {
      if ((depends & bit(v)) != 0 && v != e.bound[0]) order.push_back(v);
    }
    order.push_back(e.bound[0]);
    std::string count = "int64_t{1}", index;
    for (int v : order) {
      count += " * " + task.extent(v);
      const std::string& name = b.variables[at(v)];
      index = index.empty() ? name : fmt::format("({}) * {} + {}", index, task.extent(v), name);
    }
    const std::string type = type_text(task.expressions.accumulator_type(node)), name = fmt::format("scan{}", node);
    code.line(fmt::format("static std::vector<{}> {}_store;", type, name));
    code.line(fmt::format("{0}* const {1}_all = scratch({1}_store, {2});", type, name, count));
    variable_set available = 0;
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
      code.open(loop_head(task, order[i], b));
      available |= bit(order[i]);
    }
    bindings inside = b;
    write_ready_reductions(code, task, e.arguments[0], inside, available, "");
    code.line(fmt::format("{} {} = {};", type, name, task.expressions.identity(node)));
    code.open(loop_head(task, order.back(), b));
    available |= bit(order.back());
    write_ready_reductions(code, task, e.arguments[0], inside, available, "");
    const std::string next = task.expressions.value_as(e.arguments[0], task.expressions.accumulator_type(node), inside);
    code.line(fmt::format("{} = {};", name, task.expressions.combine(node, name, next)));
    code.line(fmt::format("{}_all[{}] = {};", name, index, name));
    for (std::size_t i = 0; i < order.size(); ++i) code.close();
    b.nodes[at(node)] = fmt::format("{}_all[{}]", name, index);
  }
}

}  // namespace

void code_text::line(const std::string& text) {
  text_.append(at(2 * depth_), ' ');
  text_ += text;
  text_ += '\n';
}

bindings nest_task::fresh_bindings() const {
  bindings b;
  for (std::size_t v = 0; v < s.variables.size(); ++v) b.variables.push_back(variable_name(static_cast<int>(v)));
  b.nodes.resize(s.nodes.size());
  return b;
}

void write_ready_reductions(code_text& code, const nest_task& task, int node, bindings& b, variable_set available,
                            const std::string& suffix) {
  for (int inner : task.expressions.reductions_under(node)) {
    if (!b.nodes[at(inner)].empty() || task.s.nodes[at(inner)].kind == expression_kind::scan) continue;
    if ((task.expressions.depends_on(inner) & ~available) != 0) continue;
    bool waits_for_scan = false;
    for (int deeper : task.expressions.reductions_under(inner)) {
      waits_for_scan |= task.s.nodes[at(deeper)].kind == expression_kind::scan && b.nodes[at(deeper)].empty();
    }
    if (!waits_for_scan) write_reduction(code, task, inner, b, available, suffix);
  }
}

void write_reduction(code_text& code, const nest_task& task, int node, bindings& b, variable_set available, const std::string& suffix) {
  const expression& e = task.s.nodes[at(node)];
  const std::string name = fmt::format("r{}{}", node, suffix);
  const bool argument = e.reducer == reduction::argmax || e.reducer == reduction::argmin;
  const value_type type = task.expressions.accumulator_type(node);
  if (argument) {
    const value_type inner = task.expressions.type_of(e.arguments[0]);
    code.line(fmt::format("{} {}_best{{}};", inner == value_type::boolean ? "int64_t" : type_text(inner), name));
    code.line(fmt::format("int64_t {}_at = -1;", name));
  } else {
    code.line(fmt::format("{} {} = {};", type_text(type), name, task.expressions.identity(node)));
  }
  bindings inside = b;
  for (int variable : e.bound) {
    code.open(loop_head(task, variable, inside));
    available |= bit(variable);
    write_ready_reductions(code, task, e.arguments[0], inside, available, suffix);
  }
  if (argument) {
    write_argument_update(code, task, node, inside, name);
  } else {
    const std::string next = task.expressions.value_as(e.arguments[0], type, inside);
    code.line(fmt::format("{} = {};", name, task.expressions.combine(node, name, next)));
  }
  for (std::size_t i = 0; i < e.bound.size(); ++i) code.close();
  b.nodes[at(node)] = argument ? name + "_at" : name;
}

void write_plain_nest(code_text& code, const nest_task& task) {
  bindings b = task.fresh_bindings();
  std::vector<int> order = task.s.target_indices;
  std::vector<int> carried;
  code.open("");
  if (scans_need_temporaries(task)) {
    write_scan_temporaries(code, task, b);
  } else {
    for (int node : task.expressions.reductions_under(task.s.root)) {
      if (task.s.nodes[at(node)].kind == expression_kind::scan) carried.push_back(node);
    }
    if (!carried.empty()) {
      const int along = task.s.nodes[at(carried[0])].bound[0];
      order.erase(std::find(order.begin(), order.end(), along));
      order.push_back(along);
    }
  }
  variable_set available = 0;
  write_ready_reductions(code, task, task.s.root, b, available, "");
  for (std::size_t depth = 0; depth < order.size(); ++depth) {
    if (depth + 1 == order.size()) {
      for (int node : carried) {
        code.line(
            fmt::format("{} scan{} = {};", type_text(task.expressions.accumulator_type(node)), node, task.expressions.identity(node)));
      }
    }
    // A scan along the outermost index carries its value from one turn to the next.
    if (depth == 0 && !(carried.size() > 0 && order.size() == 1)) code.line("#pragma omp parallel for schedule(static)");
    code.open(loop_head(task, order[depth], b));
    available |= bit(order[depth]);
    write_ready_reductions(code, task, task.s.root, b, available, "");
  }
  for (int node : carried) {
    const int argument = task.s.nodes[at(node)].arguments[0];
    const std::string name = fmt::format("scan{}", node);
    const std::string next = task.expressions.value_as(argument, task.expressions.accumulator_type(node), b);
    code.line(fmt::format("{} = {};", name, task.expressions.combine(node, name, next)));
    b.nodes[at(node)] = name;
  }
  write_ready_reductions(code, task, task.s.root, b, available, "");
  code.line(task.expressions.store(b));
  for (std::size_t depth = 0; depth < order.size(); ++depth) code.close();
  code.close();
}

}  // namespace kernsmith::cpp
