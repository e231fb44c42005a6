// [module]: the PyTorch module that a problem was made from.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/problem_tables.hpp"
#include "config/refusal.hpp"
#include "config/text.hpp"

namespace kernsmith {

namespace {

std::vector<std::string> names_of(const problem& p, tensor_role role) {
  std::vector<std::string> names;
  for (const tensor_declaration& t : p.tensors)
    if (t.role == role) names.push_back(t.name);
  return names;
}

void require_known(const std::string& name, const std::vector<std::string>& known, std::string_view what, source_place place) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  refuse(place, fmt::format("'{}' is no {} of this problem{}", name, what, did_you_mean(name, known)));
}

/// { own name = "their name", ... }
std::map<std::string, std::string> read_names(const toml_value* value, const std::vector<std::string>& known, std::string_view what,
                                              std::string_view table) {
  std::map<std::string, std::string> names;
  if (value == nullptr) return names;
  require_table(*value, table);
  for (std::size_t i = 0; i < value->items.size(); ++i) {
    require_known(value->keys[i], known, what, value->key_places[i]);
    names[value->keys[i]] = as_text(value->items[i], fmt::format("'{}' in {}", value->keys[i], table));
  }
  return names;
}

module_argument read_argument(const toml_value& value, const std::vector<std::string>& inputs) {
  module_argument argument;
  if (value.which == toml_value::kind::text) {
    require_known(value.text, inputs, "input", value.place);
    argument.input = value.text;
    return argument;
  }
  argument.number = as_number(value, "an argument of [module] (an input's name or a number)");
  argument.is_integer = value.which == toml_value::kind::integer;
  return argument;
}

/// Every input reaches the module once, or the module would not compute what the problem says.
void require_each_once(const module_spec& module, const std::vector<std::string>& inputs, source_place place) {
  std::multiset<std::string> given;
  for (const module_argument& argument : module.arguments)
    if (!argument.input.empty()) given.insert(argument.input);
  for (const auto& [input, key] : module.parameters) given.insert(input);
  for (const std::string& input : inputs) {
    if (given.count(input) == 1) continue;
    refuse(place, given.count(input) == 0
                      ? fmt::format("the module never gets input '{}'; name it in 'arguments' or in 'parameters'", input)
                      : fmt::format("the module gets input '{}' twice; name it once, in 'arguments' or in 'parameters'", input));
  }
}

void read_result_shapes(const toml_value& value, const problem& p, module_spec& module) {
  require_table(value, "'shapes' in [module]");
  const std::vector<std::string> outputs = names_of(p, tensor_role::output);
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string& name = value.keys[i];
    require_known(name, outputs, "output", value.key_places[i]);
    std::vector<dim> shape = read_shape(value.items[i], fmt::format("the shape of '{}' in [module.shapes]", name), p);
    const auto named = [&](const tensor_declaration& t) { return t.name == name; };
    const tensor_declaration& output = *std::find_if(p.tensors.begin(), p.tensors.end(), named);
    for (const workload& w : p.workloads) {
      std::int64_t elements = 1;
      for (const dim& d : shape) elements *= extent_of(d, w.axes);
      if (elements != element_count(shape_of(output, w.axes)))
        refuse(value.items[i].place, fmt::format("'{}' has another number of elements under [outputs]", name));
    }
    module.shapes[name] = std::move(shape);
  }
}

}  // namespace

module_spec read_module(const toml_value& value, const problem& p, const std::filesystem::path& folder) {
  const table_reader table(value, "[module]", {"source", "arguments", "parameters", "outputs", "constants", "overrides", "shapes"});
  const std::vector<std::string> inputs = names_of(p, tensor_role::input), outputs = names_of(p, tensor_role::output);
  std::vector<std::string> axes;
  for (const axis& a : p.axes) axes.push_back(a.name);
  module_spec module;
  module.source = read_source(table.need("source", "source = \"model.py\""), nullptr, "module", folder);
  if (module.source.language != "python")
    refuse(table.place_of("source"), fmt::format("a module is a Python file, not {}", module.source.path.filename().string()));
  const toml_value& arguments = table.need("arguments", "arguments = [\"x\"]");
  require_array(arguments, "'arguments' in [module]");
  if (arguments.items.size() > max_tensors) refuse(arguments.place, fmt::format("more than {} arguments", max_tensors));
  for (const toml_value& argument : arguments.items) module.arguments.push_back(read_argument(argument, inputs));
  module.parameters = read_names(table.find("parameters"), inputs, "input", "'parameters' in [module]");
  module.constants = read_names(table.find("constants"), axes, "axis", "'constants' in [module]");
  if (const toml_value* overrides = table.find("overrides")) {
    require_table(*overrides, "'overrides' in [module]");
    for (std::size_t i = 0; i < overrides->items.size(); ++i)
      module.overrides[overrides->keys[i]] = as_integer(overrides->items[i], fmt::format("'{}' in [module.overrides]", overrides->keys[i]));
  }
  if (const toml_value* named = table.find("outputs")) {
    require_array(*named, "'outputs' in [module]");
    for (const toml_value& output : named->items) {
      require_known(as_text(output, "an output of [module]"), outputs, "output", output.place);
      module.outputs.push_back(output.text);
    }
    const std::set<std::string> distinct(module.outputs.begin(), module.outputs.end());
    if (distinct.size() != outputs.size() || module.outputs.size() != outputs.size())
      refuse(named->place, "'outputs' of [module] must name every output of the problem once");
  } else {
    module.outputs = outputs;
  }
  if (const toml_value* shapes = table.find("shapes")) read_result_shapes(*shapes, p, module);
  require_each_once(module, inputs, table.place());
  return module;
}

}  // namespace kernsmith
