#include "backends/targets.hpp"

#include <vector>

#include <fmt/format.h>

#include "backends/cpp/evaluator.hpp"
#include "backends/cpp/machine_facts.hpp"
#include "backends/cuda/evaluator.hpp"
#include "backends/external/evaluator.hpp"
#include "backends/external/targets.hpp"
#include "backends/hip/evaluator.hpp"
#include "backends/opencl/evaluator.hpp"
#include "backends/pytorch/evaluator.hpp"
#include "backends/pytorch/hosting.hpp"
#include "config/text.hpp"

namespace kernsmith::backends {

std::string language_of(const std::string& target) {
  return target.substr(0, target.find('/'));
}

std::string source_language_of(const std::string& target) {
  if (const auto found = external::find_target(target); found && *found) return name_of((*found)->language);
  const std::string language = language_of(target);
  return language == "pytorch" || language == "triton" ? "python" : language;
}

bool has_own_device(const std::string& target) {
  const std::string language = language_of(target);
  const bool in_python = language == "pytorch" || language == "triton";
  return language == "cuda" || language == "hip" || (in_python && !target.ends_with("/cpu"));
}

result<std::string> resolve_target(const std::string& name) {
  const std::string here = "cpp/" + cpp::instruction_level();
  if (name == "cpp" || name == here) return here;
  if (language_of(name) == "cpp")
    return fail(fault::bad_request, fmt::format("target '{}' can't be measured here: this machine is {}; use --target cpp", name, here));
  if (language_of(name) == "cuda") {
    auto device = cuda::target_here();
    if (!device || name == "cuda" || name == *device) return device;
    return fail(fault::bad_request,
                fmt::format("target '{}' can't be measured here: this machine's device is {}; use --target cuda", name, *device));
  }
  if (language_of(name) == "hip") return hip::resolve_target(name);
  if (language_of(name) == "opencl") return opencl::resolve_target(name);
  if (language_of(name) == "pytorch" || language_of(name) == "triton") return pytorch::resolve_target(name);
  if (auto found = external::find_target(name)) {
    if (!*found) return tl::unexpected(found->error());
    return external::target_name(**found);
  }
  std::vector<std::string> known = external::target_names();
  known.insert(known.begin(), {"cpp", here, "cuda", "hip", "opencl", "pytorch", "triton"});
  return fail(fault::bad_request, fmt::format("unknown target '{}'{}; there are: {}; a target of your own is given as its file: --target "
                                              "my-accelerator/target.toml",
                                              name, did_you_mean(name, known), fmt::join(known, ", ")));
}

result<std::unique_ptr<harness::evaluator>> open_evaluator(const std::string& target, const problem& p,
                                                           const harness::evaluator_options& given) {
  if (p.replay == replay_mode::graph && !has_own_device(target))
    return fail(fault::bad_request,
                fmt::format("{}: [timing] replay = \"graph\" is for targets cuda and hip; target '{}' has no graphs, so "
                            "leave the table out",
                            p.path.string(), target));
  harness::evaluator_options options = given;
  if (!options.hosted) options.hosted = pytorch::open_hosting(options.cache);
  if (language_of(target) == "cpp") return cpp::open_evaluator(p, options);
  if (language_of(target) == "cuda") return cuda::open_evaluator(p, options);
  if (language_of(target) == "hip") return hip::open_evaluator(p, options);
  if (language_of(target) == "opencl") return opencl::open_evaluator(p, options);
  if (language_of(target) == "pytorch" || language_of(target) == "triton") return pytorch::open_evaluator(target, p, options);
  if (const auto found = external::find_target(target))
    return *found ? external::open_evaluator(**found, p, options) : tl::unexpected(found->error());
  return fail(fault::bad_request, fmt::format("no backend evaluates target '{}'", target));
}

}  // namespace kernsmith::backends
