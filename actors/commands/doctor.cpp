// `kernsmith doctor`: what this machine can do; each line ok, or missing with the remedy.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "actors/commands/command_line.hpp"
#include "actors/commands/commands.hpp"
#include "actors/core_plan.hpp"
#include "agents/synthesis/machine_model.hpp"
#include "backends/cpp/profiler.hpp"
#include "backends/cpp/toolchain.hpp"
#include "backends/cuda/device_probe.hpp"
#include "backends/external/target_commands.hpp"
#include "backends/external/targets.hpp"
#include "backends/harness/sandbox.hpp"
#include "backends/hip/evaluator.hpp"
#include "backends/opencl/toolchain.hpp"
#include "backends/pytorch/python_installation.hpp"
#include "memory/store.hpp"

namespace kernsmith::actors {
namespace {

struct finding {
  std::string name;
  bool ok = false;
  bool needed = true;  ///< a missing extra is told, but doesn't fail the check
  std::string detail;
  std::string remedy;
};

finding check_toolchain(const common_options& options) {
  finding f{"C++ compiler", false, true, "", ""};
  const auto toolchain = cpp::toolchain::discover(build_cache(options));
  if (!toolchain) {
    f.remedy = toolchain.error().message;
    return f;
  }
  const auto built = toolchain->build(
      "#include \"kernsmith_kernel.h\"\nextern \"C\" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch*) { return 0; }\n");
  f.detail = toolchain->compiler() + ", " + toolchain->flags();
  if (!built)
    f.remedy = built.error().message;
  else if (!built->outcome.empty())
    f.remedy = built->outcome + ": " + built->detail;
  else
    f.ok = true;
  return f;
}

finding check_cores() {
  const core_plan plan = plan_cores(allowed_cores(), 1, 0);
  finding f{"cores", true, true, "", ""};
  f.detail = fmt::format("{} to measure on, {} to build on{}", plan.slots.front().size(), plan.build.size(),
                         plan.shared ? " (shared: builds wait for measurements)" : "");
  return f;
}

finding check_isa(const agents::machine_model& machine) {
  finding f{"vector units", machine.vector_bytes >= 32, true, fmt::format("{}, {}-bit vectors", machine.isa, machine.vector_bytes * 8), ""};
  if (!f.ok)
    f.remedy = "kernels need AVX2 and FMA: use a CPU from 2015 or later, and pass its features through if this is a virtual machine";
  return f;
}

finding check_clocks() {
  finding f{"clock policy", false, false, "", ""};
  std::ifstream governor("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::string name;
  if (governor >> name) {
    f.ok = name == "performance";
    f.detail = name;
    if (!f.ok) f.remedy = "for steadier timings: cpupower frequency-set -g performance";
  } else {
    f.detail = "not visible here (a virtual machine?)";
    f.remedy = "nothing to do; the A/A control in every session tells whether timings can be trusted";
  }
  return f;
}

/// Targets that are described by files: each an extra.
std::vector<finding> check_external_targets(const common_options& options) {
  std::vector<finding> findings;
  for (const std::string& name : external::target_names()) {
    finding f{"target " + name, false, false, "", ""};
    const auto target = external::find_target(name);
    if (target && !*target) f.remedy = target->error().message;
    if (target && *target) {
      f.detail = (*target)->description;
      const auto commands = external::target_commands::open(**target, build_cache(options));
      f.ok = commands.has_value();
      if (!commands) f.remedy = commands.error().message;
    }
    findings.push_back(std::move(f));
  }
  return findings;
}

finding check_pytorch() {
  const auto python = pytorch::find_python();
  finding f{"PyTorch", python.has_value(), false, "", python ? "" : python.error().message};
  if (!python) return f;
  f.detail = fmt::format("{}, {}", python->packages.at("torch"), python->program.string());
  if (python->has("triton")) f.detail += fmt::format(", Triton {}", python->packages.at("triton"));
  return f;
}

finding check_data(const common_options& options) {
  const auto directory = data_directory(options);
  finding f{"data directory", false, true, directory.string(), ""};
  const auto store = memory::store::open(directory);
  f.ok = store.has_value();
  if (store) {
    f.detail += fmt::format(", {} sessions, {} champions", (*store)->sessions().size(), (*store)->champions().size());
  } else {
    f.remedy = store.error().message;
  }
  return f;
}

std::vector<finding> examine(const common_options& options) {
  std::vector<finding> findings;
  findings.push_back(check_cores());
  findings.push_back(check_isa(agents::describe_host(static_cast<int>(allowed_cores().size()))));
  findings.push_back(check_clocks());
  const auto sandbox = harness::sandbox_self_test();
  if (sandbox.empty()) findings.push_back({"sandbox", false, true, "the self-test examined nothing", "this is a bug: please report it"});
  for (const harness::sandbox_check& check : sandbox)
    findings.push_back({"sandbox: " + check.name, check.ok, true, check.ok ? check.detail : "", check.ok ? "" : check.detail});
  findings.push_back(check_toolchain(options));
  for (const cuda::device_check& check : cuda::examine_device(build_cache(options)))
    findings.push_back({check.name, check.ok, false, check.ok ? check.detail : "", check.ok ? "" : check.detail});
  for (const hip::tool_check& check : hip::examine_tools(build_cache(options)))
    findings.push_back({check.name, check.ok, false, check.ok ? check.detail : "", check.ok ? "" : check.detail});
  const auto opencl_device = opencl::find_device();
  findings.push_back(
      {"OpenCL device", opencl_device.has_value(), false, opencl_device.value_or(""), opencl_device ? "" : opencl_device.error().message});
  findings.push_back(check_pytorch());
  for (finding& f : check_external_targets(options)) findings.push_back(std::move(f));
  for (const cpp::profiling_tool& tool : cpp::find_profiling_tools())
    findings.push_back({"profiler: " + tool.name, tool.found, false, tool.detail, tool.remedy});
  findings.push_back(check_data(options));
  return findings;
}

void print(const std::vector<finding>& findings) {
  for (const finding& f : findings) {
    fmt::print("{:8} {:32} {}\n", f.ok ? "ok" : f.needed ? "missing" : "note", f.name, f.detail);
    if (!f.ok && !f.remedy.empty()) fmt::print("{:8} {:32} -> {}\n", "", "", f.remedy);
  }
}

int run_doctor(const common_options& options) {
  const std::vector<finding> findings = examine(options);
  bool well = true;
  nlohmann::json lines = nlohmann::json::array();
  for (const finding& f : findings) {
    if (!f.ok && f.needed) well = false;
    lines.push_back({{"name", f.name}, {"ok", f.ok}, {"needed", f.needed}, {"detail", f.detail}, {"remedy", f.remedy}});
  }
  if (!options.json || !options.json_file.empty()) print(findings);
  if (options.json && !write_json(options, {{"ok", well}, {"checks", lines}})) return exit_missing_here;
  return well ? exit_done : exit_missing_here;
}

}  // namespace

command_body add_doctor(CLI::App& program) {
  auto options = std::make_shared<common_options>();
  CLI::App* command = program.add_subcommand(
      "doctor",
      "What this machine can do: cores, toolchain, sandbox self-test, clocks, data directory; each line ok, or missing with its remedy");
  command->footer("Example: kernsmith doctor");
  add_common_options(*command, *options);
  return [options] { return run_doctor(*options); };
}

}  // namespace kernsmith::actors
