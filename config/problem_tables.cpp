#include "config/problem_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/definition_names.hpp"
#include "config/refusal.hpp"
#include "config/text.hpp"

namespace kernsmith {

namespace {

void check_identifier(const std::string& name, const char* what, source_place place) {
  if (!is_identifier(name))
    refuse(place, fmt::format("'{}' can't name {}; use up to {} letters, digits and '_', not starting with a digit", name, what,
                              max_identifier_length));
  if (is_reserved_word(name)) refuse(place, fmt::format("'{}' is a word of the definition language; give {} another name", name, what));
}

std::vector<std::string> axis_names(const problem& p) {
  std::vector<std::string> names;
  for (const axis& a : p.axes) names.push_back(a.name);
  return names;
}

int find_axis(const problem& p, const std::string& name) {
  for (std::size_t i = 0; i < p.axes.size(); ++i)
    if (p.axes[i].name == name) return static_cast<int>(i);
  return -1;
}

std::int64_t read_extent(const toml_value& value, const std::string& what) {
  const std::int64_t extent = as_integer(value, what);
  if (extent < 1) refuse(value.place, fmt::format("{} is {}; it must be at least 1", what, extent));
  return extent;
}

double read_pad(const toml_value& value, const std::string& what) {
  if (value.which == toml_value::kind::boolean) return value.boolean ? 1 : 0;
  // Padding with an infinity is what a max-pool needs, so the finite check of as_number doesn't apply.
  if (value.which == toml_value::kind::real && std::isinf(value.real)) return value.real;
  return as_number(value, what);
}

void check_tensor_name(const problem& p, const std::string& name, source_place place) {
  check_identifier(name, "a tensor", place);
  if (find_axis(p, name) >= 0) refuse(place, fmt::format("'{}' is an axis already; give the tensor another name", name));
  for (const tensor_declaration& t : p.tensors)
    if (t.name == name) refuse(place, fmt::format("'{}' is declared as an input and as an output; give one of them another name", name));
}

void check_pad(const tensor_declaration& t, source_place place) {
  if (!t.pad || is_float(t.type)) return;
  if (round_through(*t.pad, t.type) != *t.pad)
    refuse(place, fmt::format("pad {} of '{}' is no value of its dtype {}", *t.pad, t.name, name_of(t.type)));
}

template <class Enum>
struct choice {
  std::string name;
  Enum value;
};

template <class Enum>
Enum read_choice(const toml_value& value, const std::string& what, const std::vector<choice<Enum>>& choices) {
  const std::string& text = as_text(value, what);
  std::vector<std::string> names;
  for (const auto& c : choices) {
    if (c.name == text) return c.value;
    names.push_back(c.name);
  }
  refuse(value.place, fmt::format("{} is '{}'; it must be one of {}{}", what, text, fmt::join(names, ", "), did_you_mean(text, names)));
}

}  // namespace

std::vector<dim> read_shape(const toml_value& value, const std::string& what, const problem& p) {
  require_array(value, what);
  if (value.items.size() > max_rank)
    refuse(value.place, fmt::format("{} has {} dimensions; at most {} are supported", what, value.items.size(), max_rank));
  std::vector<dim> shape;
  for (const toml_value& item : value.items) {
    dim d;
    if (item.which == toml_value::kind::text) {
      d.axis = find_axis(p, item.text);
      if (d.axis < 0) {
        const std::string hint = did_you_mean(item.text, axis_names(p));
        refuse(item.place, fmt::format("unknown axis '{}' in {}{}", item.text, what, hint.empty() ? "; declare it under [axes]" : hint));
      }
    } else {
      d.constant = read_extent(item, "an extent in " + what);
    }
    shape.push_back(d);
  }
  return shape;
}

dtype read_dtype(const toml_value& value, std::string_view what) {
  const std::string& name = as_text(value, what);
  if (const auto type = dtype_from_name(name)) return *type;
  const std::vector<std::string> names(dtype_names().begin(), dtype_names().end());
  const std::string hint = did_you_mean(name, names);
  refuse(value.place, fmt::format("unknown dtype '{}'{}", name, hint.empty() ? fmt::format("; known: {}", fmt::join(names, ", ")) : hint));
}

void read_axes(const toml_value& value, problem& p) {
  require_table(value, "[axes]");
  if (value.items.size() > max_axes) refuse(value.place, fmt::format("more than {} axes", max_axes));
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    check_identifier(value.keys[i], "an axis", value.key_places[i]);
    p.axes.push_back({value.keys[i], read_extent(value.items[i], fmt::format("axis '{}'", value.keys[i]))});
  }
}

void read_tensors(const toml_value& value, tensor_role role, problem& p, const std::filesystem::path& folder) {
  const std::string group = role == tensor_role::input ? "inputs" : "outputs";
  require_table(value, "[" + group + "]");
  if (value.items.size() > max_tensors) refuse(value.place, fmt::format("more than {} {}", max_tensors, group));
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string what = fmt::format("[{}.{}]", group, value.keys[i]);
    check_tensor_name(p, value.keys[i], value.key_places[i]);
    std::vector<std::string> keys = {"shape", "dtype", "pad"};
    if (role == tensor_role::input) keys.push_back("init");
    const table_reader table(value.items[i], what, keys);
    tensor_declaration t;
    t.name = value.keys[i];
    t.role = role;
    t.place = value.key_places[i];
    t.type = read_dtype(table.need("dtype", "dtype = \"f32\""), "'dtype' in " + what);
    t.type_declared = true;
    t.shape = read_shape(table.need("shape", "shape = [\"N\"]"), "the shape of " + what, p);
    if (const toml_value* pad = table.find("pad")) {
      t.pad = read_pad(*pad, "'pad' in " + what);
      check_pad(t, pad->place);
    }
    if (const toml_value* init = table.find("init")) t.init = read_init(*init, t, folder);
    p.tensors.push_back(std::move(t));
  }
}

std::vector<intermediate_declaration> read_intermediates(const toml_value& value, const problem& p) {
  require_table(value, "[intermediates]");
  std::vector<intermediate_declaration> declarations;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string what = fmt::format("[intermediates.{}]", value.keys[i]);
    check_identifier(value.keys[i], "an intermediate", value.key_places[i]);
    for (const tensor_declaration& t : p.tensors)
      if (t.name == value.keys[i])
        refuse(value.key_places[i], fmt::format("'{}' is an {} already", t.name, t.role == tensor_role::input ? "input" : "output"));
    const table_reader table(value.items[i], what, {"dtype", "shape", "pad"});
    intermediate_declaration declaration;
    declaration.name = value.keys[i];
    declaration.place = value.key_places[i];
    if (const toml_value* type = table.find("dtype")) declaration.type = read_dtype(*type, "'dtype' in " + what);
    if (const toml_value* shape = table.find("shape")) declaration.shape = read_shape(*shape, "the shape of " + what, p);
    if (const toml_value* pad = table.find("pad")) declaration.pad = read_pad(*pad, "'pad' in " + what);
    declarations.push_back(std::move(declaration));
  }
  return declarations;
}

void read_workloads(const toml_value& value, problem& p) {
  require_array(value, "[[workloads]]");
  if (value.items.size() > max_workloads) refuse(value.place, fmt::format("more than {} workloads", max_workloads));
  for (const toml_value& item : value.items) {
    const table_reader table(item, "[[workloads]]", {"axes", "weight"});
    workload w;
    for (const axis& a : p.axes) w.axes.push_back(a.extent);
    if (const toml_value* axes = table.find("axes")) {
      require_table(*axes, "'axes' in [[workloads]]");
      for (std::size_t i = 0; i < axes->items.size(); ++i) {
        const int id = find_axis(p, axes->keys[i]);
        if (id < 0) {
          const std::string hint = did_you_mean(axes->keys[i], axis_names(p));
          refuse(axes->key_places[i],
                 fmt::format("unknown axis '{}' in [[workloads]]{}", axes->keys[i], hint.empty() ? "; declare it under [axes]" : hint));
        }
        w.axes[static_cast<std::size_t>(id)] = read_extent(axes->items[i], fmt::format("axis '{}'", axes->keys[i]));
      }
    }
    w.weight = table.number("weight", 1.0);
    if (!(w.weight > 0)) refuse(table.place_of("weight"), "the weight of a workload must be above 0");
    const auto same = [&](const workload& other) { return other.axes == w.axes; };
    if (std::any_of(p.workloads.begin(), p.workloads.end(), same))
      refuse(item.place, "these axes are a workload already; change them or add the weights");
    p.workloads.push_back(std::move(w));
  }
}

compare_spec read_compare(const toml_value& value) {
  const table_reader table(value, "[compare]", {"mode", "atol", "rtol", "ulp", "norm"});
  compare_spec compare;
  compare.written = true;
  if (const toml_value* mode = table.find("mode"))
    compare.mode = read_choice<compare_mode>(*mode, "'mode' in [compare]",
                                             {{"allclose", compare_mode::allclose},
                                              {"bitwise", compare_mode::bitwise},
                                              {"ulp", compare_mode::ulp},
                                              {"normwise", compare_mode::normwise}});
  compare.atol = table.number("atol", compare.atol);
  compare.rtol = table.number("rtol", compare.rtol);
  compare.ulp = table.number("ulp", compare.ulp);
  compare.norm = table.number("norm", compare.norm);
  const auto belongs = [&](const char* key, compare_mode mode, const char* name) {
    if (table.find(key) != nullptr && compare.mode != mode)
      refuse(table.place_of(key), fmt::format("'{}' belongs to mode \"{}\"; set that mode or drop the key", key, name));
    if (table.find(key) != nullptr && table.number(key, 0) < 0) refuse(table.place_of(key), fmt::format("'{}' can't be negative", key));
  };
  belongs("atol", compare_mode::allclose, "allclose");
  belongs("rtol", compare_mode::allclose, "allclose");
  belongs("ulp", compare_mode::ulp, "ulp");
  belongs("norm", compare_mode::normwise, "normwise");
  if (compare.mode == compare_mode::ulp) (void)table.need("ulp", "ulp = 4");
  if (compare.mode == compare_mode::normwise) (void)table.need("norm", "norm = 1e-5");
  return compare;
}

precision_contract read_precision(const toml_value& value) {
  const table_reader table(value, "[precision]", {"lowest", "error_multiple"});
  precision_contract precision;
  precision.written = true;
  if (const toml_value* lowest = table.find("lowest")) {
    precision.lowest = read_dtype(*lowest, "'lowest' in [precision]");
    if (!is_float(precision.lowest))
      refuse(lowest->place, fmt::format("'lowest' is {}; it must be a float dtype", name_of(precision.lowest)));
  }
  precision.error_multiple = table.number("error_multiple", precision.error_multiple);
  if (!(precision.error_multiple >= 1)) refuse(table.place_of("error_multiple"), "'error_multiple' must be at least 1");
  return precision;
}

std::vector<std::string> read_libraries(const toml_value& value) {
  static const std::vector<std::string> known = {"openblas", "cublas"};
  const table_reader table(value, "[candidates]", {"libraries"});
  const toml_value& list = table.need("libraries", "libraries = [\"openblas\"]");
  std::vector<std::string> libraries;
  require_array(list, "'libraries' in [candidates]");
  for (const toml_value& entry : list.items) {
    const std::string& name = as_text(entry, "a library");
    if (std::find(known.begin(), known.end(), name) == known.end())
      refuse(entry.place, fmt::format("unknown library '{}'{}; known: {}", name, did_you_mean(name, known), fmt::join(known, ", ")));
    if (std::find(libraries.begin(), libraries.end(), name) != libraries.end())
      refuse(entry.place, fmt::format("'{}' is named twice; drop one", name));
    libraries.push_back(name);
  }
  std::sort(libraries.begin(), libraries.end());
  return libraries;
}

metric read_objective(const toml_value& value) {
  const table_reader table(value, "[objective]", {"metric"});
  return read_choice<metric>(
      table.need("metric", "metric = \"latency\""), "'metric' in [objective]",
      {{"latency", metric::latency}, {"p90", metric::p90}, {"p99", metric::p99}, {"throughput", metric::throughput}});
}

replay_mode read_timing(const toml_value& value) {
  const table_reader table(value, "[timing]", {"replay"});
  return read_choice<replay_mode>(table.need("replay", "replay = \"graph\""), "'replay' in [timing]",
                                  {{"none", replay_mode::none}, {"graph", replay_mode::graph}});
}

}  // namespace kernsmith
