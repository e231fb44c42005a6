#include "backends/targets.hpp"

#include <vector>

#include <fmt/format.h>

#include "backends/cpp/evaluator.hpp"
#include "backends/cpp/machine_facts.hpp"
#include "config/text.hpp"

namespace kernsmith::backends {

std::string language_of(const std::string& target) {
  return target.substr(0, target.find('/'));
}

result<std::string> resolve_target(const std::string& name) {
  const std::string here = "cpp/" + cpp::instruction_level();
  if (name == "cpp" || name == here) return here;
  if (language_of(name) == "cpp")
    return fail(fault::bad_request, fmt::format("target '{}' can't be measured here: this machine is {}; use --target cpp", name, here));
  const std::vector<std::string> known = {"cpp", here};
  return fail(fault::bad_request,
              fmt::format("unknown target '{}'{}; this build evaluates: cpp ({})", name, did_you_mean(name, known), here));
}

result<std::unique_ptr<harness::evaluator>> open_evaluator(const std::string& target, const problem& p,
                                                           const harness::evaluator_options& options) {
  if (language_of(target) == "cpp") return cpp::open_evaluator(p, options);
  return fail(fault::bad_request, fmt::format("no backend evaluates target '{}'", target));
}

}  // namespace kernsmith::backends
