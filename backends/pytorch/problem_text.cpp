#include "backends/pytorch/problem_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace kernsmith::pytorch {

namespace {

using nlohmann::json;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

/// A float as TOML writes it, which wants a point or an exponent.
std::string number_text(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string scalar_text(const json& value) {
  if (value.is_string()) return value.get<std::string>() == "-inf" ? "-inf" : quoted(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_integer()) return fmt::format("{}", value.get<std::int64_t>());
  return number_text(value.get<double>());
}

std::string shape_text(const json& shape) {
  std::vector<std::string> parts;
  for (const json& d : shape) parts.push_back(scalar_text(d));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

bool is_float_name(const std::string& dtype) {
  return dtype.starts_with("f") || dtype == "bf16";
}

std::string init_text(const json& init, const std::string& dtype) {
  const std::string kind = init.value("kind", "");
  const bool real = is_float_name(dtype);
  const auto value = [&](const char* key) {
    return real ? number_text(init.at(key).get<double>()) : fmt::format("{}", static_cast<std::int64_t>(init.at(key).get<double>()));
  };
  if (kind == "uniform" && real) return fmt::format("{{ kind = \"uniform\", lo = {}, hi = {} }}", value("lo"), value("hi"));
  if (kind == "normal" && real) return fmt::format("{{ kind = \"normal\", mean = {}, std = {} }}", value("mean"), value("std"));
  if (kind == "integers")
    return fmt::format("{{ kind = \"integers\", lo = {}, hi = {} }}", init.at("lo").get<std::int64_t>(), init.at("hi").get<std::int64_t>());
  if (kind == "constant") {
    if (dtype == "bool") return fmt::format("{{ kind = \"constant\", value = {} }}", init.at("value").get<double>() != 0);
    return fmt::format("{{ kind = \"constant\", value = {} }}", value("value"));
  }
  if (kind == "sorted") {
    std::string of = init_text(init.at("of"), dtype);
    if (of.empty() && real) of = "{ kind = \"normal\" }";
    return of.empty() ? "" : fmt::format("{{ kind = \"sorted\", of = {} }}", of);
  }
  return "";
}

/// Tensors that a statement reads at computed places: their own init says valid ones.
std::vector<std::string> index_tensors(const json& traced) {
  std::vector<std::string> names;
  for (const json& input : traced.at("inputs")) {
    const std::string name = input.at("name");
    if (is_float_name(input.at("dtype").get<std::string>())) continue;
    for (const json& node : traced.at("nodes")) {
      // Inside of another tensor's brackets: a bracket is open where the name stands.
      const std::string text = node.at("text");
      for (std::size_t at = text.find(name + "["); at != std::string::npos; at = text.find(name + "[", at + 1)) {
        const auto head = text.begin() + static_cast<std::ptrdiff_t>(at);
        const bool word = at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_');
        if (!word && std::count(text.begin(), head, '[') > std::count(text.begin(), head, ']')) names.push_back(name);
      }
    }
  }
  return names;
}

void write_tensor(std::string& out, const char* group, const json& t) {
  const std::string dtype = t.at("dtype");
  out +=
      fmt::format("\n[{}.{}]\nshape = {}\ndtype = {}\n", group, t.at("name").get<std::string>(), shape_text(t.at("shape")), quoted(dtype));
  if (t.contains("pad"))
    out += fmt::format("pad = {}\n", dtype == "bool"                                   ? (t.at("pad").get<double>() != 0 ? "true" : "false")
                                     : is_float_name(dtype) && t.at("pad").is_number() ? number_text(t.at("pad").get<double>())
                                                                                       : scalar_text(t.at("pad")));
}

/// Text of the tracer for a comment.
std::string plain(std::string text) {
  constexpr std::size_t most = 120;
  for (char& c : text)
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text.substr(0, most);
}

void write_definition(std::string& out, const json& traced) {
  out += "\n[definition]\ntext = \"\"\"\n";
  for (const json& rule : traced.value("rewrites", json::array()))
    out += fmt::format("# line {} is rewritten, exactly for all finite inputs: {}\n", rule.value("line", std::int64_t{0}),
                       plain(rule.value("rule", "")));
  std::int64_t line = 0;
  for (const json& node : traced.at("nodes")) {
    const std::string text = node.at("text");
    if (text.find_first_of("\"\\\n") != std::string::npos) throw std::invalid_argument("a statement with quotes");
    if (const std::int64_t at = node.value("line", std::int64_t{0}); at != line && at > 0) {
      out += fmt::format("# line {}: {}\n", at, plain(node.value("op", "")));
      line = at;
    }
    out += text + "\n";
  }
  out += "\"\"\"\n";
}

void write_compare(std::string& out, const json& traced) {
  bool floats = false, narrow = false;
  for (const json& output : traced.at("outputs")) {
    const std::string dtype = output.at("dtype");
    floats = floats || is_float_name(dtype);
    narrow = narrow || dtype == "f16" || dtype == "bf16";
  }
  // KernelBench's own tolerances: 1e-4 in f32, 1e-2 in half precision.
  if (!floats)
    out += "\n[compare]\nmode = \"bitwise\"\n";
  else
    out += fmt::format("\n[compare]\nmode = \"allclose\"\natol = {0}\nrtol = {0}\n", narrow ? "1e-2" : "1e-4");
}

void write_module(std::string& out, const json& traced, const problem_heading& heading) {
  std::vector<std::string> arguments, outputs;
  for (const json& a : traced.at("arguments"))
    arguments.push_back(a.contains("input") ? quoted(a.at("input").get<std::string>()) : scalar_text(a.at("value")));
  for (const json& o : traced.at("outputs")) outputs.push_back(quoted(o.at("name").get<std::string>()));
  out += fmt::format("\n[module]\nsource = {}\narguments = [{}]\noutputs = [{}]\n", quoted(heading.source), fmt::join(arguments, ", "),
                     fmt::join(outputs, ", "));
  std::string parameters, constants, overrides, shapes;
  for (const json& output : traced.at("outputs"))
    if (output.at("shape") != output.at("logical"))
      shapes += fmt::format("{} = {}\n", output.at("name").get<std::string>(), shape_text(output.at("logical")));
  for (const json& input : traced.at("inputs"))
    if (input.at("role") == "parameter")
      parameters += fmt::format("{} = {}\n", input.at("name").get<std::string>(), quoted(input.at("key").get<std::string>()));
  for (const auto& [axis, constant] : heading.constants) constants += fmt::format("{} = {}\n", axis, quoted(constant));
  for (const auto& [constant, value] : heading.overrides) overrides += fmt::format("{} = {}\n", constant, value);
  if (!parameters.empty()) out += "\n[module.parameters]\n" + parameters;
  if (!constants.empty()) out += "\n[module.constants]\n" + constants;
  if (!shapes.empty()) out += "\n[module.shapes]\n" + shapes;
  if (!overrides.empty()) out += "\n[module.overrides]\n" + overrides;
}

/// The module as it is comes first: what its user would run. Not where the problem sees an argument of forward in another shape.
void write_baselines(std::string& out, const json& traced) {
  for (const json& input : traced.at("inputs")) {
    if (input.at("role") != "parameter" && input.contains("logical") && input.at("logical") != input.at("shape")) return;
  }
  out += "\n[baselines.eager]\nbuiltin = \"pytorch\"\n\n[baselines.naive]\nbuiltin = \"naive\"\n";
}

std::string written(const json& traced, const problem_heading& heading) {
  std::string out = fmt::format("name = {}\n", quoted(heading.name));
  if (!heading.axes.empty()) out += "\n[axes]\n";
  for (const auto& [axis, extent] : heading.axes) out += fmt::format("{} = {}\n", axis, extent);
  const std::vector<std::string> indices = index_tensors(traced);
  for (const json& input : traced.at("inputs")) {
    write_tensor(out, "inputs", input);
    const bool index = std::find(indices.begin(), indices.end(), input.at("name").get<std::string>()) != indices.end();
    if (input.contains("init") && !index)
      if (const std::string init = init_text(input.at("init"), input.at("dtype")); !init.empty()) out += fmt::format("init = {}\n", init);
  }
  for (const json& output : traced.at("outputs")) write_tensor(out, "outputs", output);
  for (const json& t : traced.at("intermediates")) {
    out += fmt::format("\n[intermediates.{}]\n", t.at("name").get<std::string>());
    if (t.contains("shape")) out += fmt::format("shape = {}\n", shape_text(t.at("shape")));
    if (t.contains("dtype")) out += fmt::format("dtype = {}\n", quoted(t.at("dtype").get<std::string>()));
    if (t.contains("pad")) {
      const std::string dtype = t.value("dtype", "f32");
      out += fmt::format("pad = {}\n", dtype == "bool" ? (t.at("pad").get<double>() != 0 ? "true" : "false")
                                       : is_float_name(dtype) && t.at("pad").is_number() ? number_text(t.at("pad").get<double>())
                                                                                         : scalar_text(t.at("pad")));
    }
  }
  for (const auto& workload : heading.workloads) {
    std::vector<std::string> extents;
    for (const auto& [axis, extent] : workload) extents.push_back(fmt::format("{} = {}", axis, extent));
    out += fmt::format("\n[[workloads]]\naxes = {{ {} }}\n", fmt::join(extents, ", "));
  }
  write_definition(out, traced);
  write_compare(out, traced);
  if (!heading.source.empty()) {
    write_module(out, traced, heading);
    write_baselines(out, traced);
  }
  return out;
}

}  // namespace

result<std::string> problem_text(const nlohmann::json& traced, const problem_heading& heading) {
  try {
    return written(traced, heading);
  } catch (const std::exception& e) {
    return fail(fault::bad_request, fmt::format("the tracer's document isn't one: {}", e.what()));
  }
}

}  // namespace kernsmith::pytorch
