#include "backends/pytorch/hosted_kernel.hpp"

#include <algorithm>

namespace kernsmith::pytorch {

namespace {

/// Where a tensor stands among those of its role.
int place_of(const problem& p, const std::vector<int>& among, const std::string& name) {
  const auto found = std::find_if(among.begin(), among.end(), [&](int id) { return p.tensors[static_cast<std::size_t>(id)].name == name; });
  return static_cast<int>(found - among.begin());
}

nlohmann::json module_plan(const problem& p, const module_spec& module) {
  nlohmann::json arguments = nlohmann::json::array(), outputs = nlohmann::json::array(), constants = nlohmann::json::array();
  for (const module_argument& argument : module.arguments) {
    if (!argument.input.empty())
      arguments.push_back({{"input", place_of(p, p.inputs(), argument.input)}});
    else if (argument.is_integer)
      arguments.push_back({{"number", static_cast<std::int64_t>(argument.number)}});
    else
      arguments.push_back({{"number", argument.number}});
  }
  // In the order of the inputs, which is that of the module's own state.
  std::vector<std::pair<int, std::string>> parameters;
  for (const auto& [input, key] : module.parameters) parameters.emplace_back(place_of(p, p.inputs(), input), key);
  std::sort(parameters.begin(), parameters.end());
  for (const std::string& output : module.outputs) outputs.push_back(place_of(p, p.outputs(), output));
  for (const auto& [axis, constant] : module.constants) {
    const auto found = std::find_if(p.axes.begin(), p.axes.end(), [&](const auto& a) { return a.name == axis; });
    constants.push_back({found - p.axes.begin(), constant});
  }
  return {{"arguments", arguments},
          {"parameters", parameters},
          {"outputs", outputs},
          {"constants", constants},
          {"overrides", module.overrides}};
}

constexpr const char* name_of(kernel_role role) {
  return role == kernel_role::candidate ? "candidate" : role == kernel_role::baseline ? "baseline" : "reference";
}

}  // namespace

nlohmann::json hosted_document(const problem& p, const hosted_source& source) {
  nlohmann::json codes = nlohmann::json::array(), switches = nlohmann::json::object();
  for (const int output : p.outputs()) codes.push_back(static_cast<int>(p.tensors[static_cast<std::size_t>(output)].type));
  // What is right is computed without shortcuts; baselines and candidates have PyTorch's own settings, as a user has them.
  if (source.role == kernel_role::reference) switches = {{"matmul_tf32", false}, {"cudnn_tf32", false}};
  return {{"version", 1},
          {"role", name_of(source.role)},
          {"name", source.name},
          {"source", source.text},
          {"class", source.role == kernel_role::candidate ? "ModelNew" : "Model"},
          {"how", source.compiled ? "compile" : "eager"},
          {"mode", source.mode},
          {"device", source.on_device},
          {"torch", true},
          {"switches", switches},
          {"init_source", source.init_source},
          {"module", p.module ? module_plan(p, *p.module) : nlohmann::json()},
          {"n_inputs", p.inputs().size()},
          {"n_outputs", p.outputs().size()},
          {"output_dtypes", codes}};
}

}  // namespace kernsmith::pytorch
