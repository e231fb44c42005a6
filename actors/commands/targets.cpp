#include "actors/commands/targets.hpp"

#include <vector>

#include <fmt/format.h>

#include "config/text.hpp"

namespace kernsmith::actors {

result<std::string> resolve_target(const std::string& name, const std::string& host_isa) {
  const std::string here = "cpp/" + host_isa;
  if (name == "cpp" || name == here) return here;
  if (name.rfind("cpp/", 0) == 0)
    return fail(fault::bad_request, fmt::format("target '{}' can't be measured here: this machine is {}; use --target cpp", name, here));
  const std::vector<std::string> known = {"cpp", here};
  return fail(fault::bad_request,
              fmt::format("unknown target '{}'{}; this build evaluates: cpp ({})", name, did_you_mean(name, known), here));
}

}  // namespace kernsmith::actors
