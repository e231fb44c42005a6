#include "backends/hip/candidate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "backends/hip/code_object.hpp"
#include "backends/hip/nvidia_bridge.hpp"

namespace kernsmith::hip {

namespace {

constexpr const char* usual_architecture = "gfx90a";
constexpr const char* bridge_name = "kernsmith_hip_nvidia.h";

bool is_architecture(const std::string& name) {
  return name.size() > 3 && name.starts_with("gfx") &&
         std::all_of(name.begin() + 3, name.end(), [](unsigned char c) { return std::isxdigit(c) != 0 && std::isupper(c) == 0; });
}

}  // namespace

result<also_setting> read_also_setting() {
  const char* const set = std::getenv("KERNSMITH_HIP_ALSO");
  if (set == nullptr || *set == '\0') return also_setting{{usual_architecture}, false};
  also_setting wanted;
  if (std::string_view(set) == "none") return wanted;
  wanted.required = true;
  std::istringstream names(set);
  for (std::string name; std::getline(names, name, ',');) {
    if (!is_architecture(name))
      return fail(fault::bad_request,
                  fmt::format("KERNSMITH_HIP_ALSO: '{}' is no AMD architecture; write \"gfx90a\", \"gfx90a,gfx1030\" or \"none\"", name));
    wanted.architectures.push_back(name);
  }
  return wanted;
}

result<std::shared_ptr<const hip_candidates>> hip_candidates::open(const std::filesystem::path& cache) {
  const auto headers = find_headers();
  if (!headers) return tl::unexpected(headers.error());
  const auto wanted = read_also_setting();
  if (!wanted) return tl::unexpected(wanted.error());
  std::shared_ptr<hip_candidates> made(new hip_candidates);
  made->headers_ = *headers;
  for (const std::string& architecture : wanted->architectures) {
    auto compiler = toolchain::discover(cache, architecture);
    if (compiler) {
      made->also_.push_back(std::move(*compiler));
    } else if (wanted->required || compiler.error().kind != fault::missing_here) {
      return tl::unexpected(compiler.error());
    }
  }
  return std::shared_ptr<const hip_candidates>(std::move(made));
}

cuda::front_end hip_candidates::compiled_with() const {
  cuda::front_end with;
  with.flags = {"-D__HIP_PLATFORM_NVIDIA__", "-include", std::string("/build/") + bridge_name};
  with.headers = {{bridge_name, std::string(nvidia_bridge_text())}};
  if (headers_ != "/usr/include") {
    with.flags.push_back("-I" + headers_.string());
    if (!headers_.string().starts_with("/usr/")) with.readable = {headers_};
  }
  return with;
}

result<void> hip_candidates::complete(const std::string& source, built_kernel& kernel, double timeout_s) const {
  for (const toolchain& compiler : also_) {
    auto built = compiler.build(source, timeout_s);
    if (!built) return tl::unexpected(built.error());
    kernel.build_s += built->build_s;
    kernel.from_cache = kernel.from_cache && built->from_cache;
    kernel.log += (kernel.log.empty() || kernel.log.ends_with('\n') ? "" : "\n") + built->log;
    if (built->outcome.empty()) continue;
    kernel.outcome = built->outcome;
    kernel.detail = fmt::format("for {}: {}", compiler.architecture(), built->detail);
    return {};
  }
  return {};
}

std::map<std::string, double> hip_candidates::signals(const built_kernel& kernel) const {
  std::map<std::string, double> found;
  for (const toolchain& compiler : also_) {
    const std::string& device = compiler.architecture();
    const kernel_resources most = largest_resources(parse_report(device, kernel.log));
    for (const auto& [name, value] : {std::pair<const char*, std::int64_t>{"vgprs", most.vgprs},
                                      {"agprs", most.agprs},
                                      {"sgprs", most.sgprs},
                                      {"lds_bytes", most.lds_bytes},
                                      {"scratch_bytes", most.scratch_bytes},
                                      {"spilled_vgprs", most.spilled_vgprs}})
      found[fmt::format("{}_{}", device, name)] = static_cast<double>(value);
    if (const device_limits* limits = limits_of(device))
      found[device + "_waves_by_registers"] = static_cast<double>(waves_by_registers(most, *limits));
  }
  return found;
}

}  // namespace kernsmith::hip
