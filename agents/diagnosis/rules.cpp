#include "agents/diagnosis/rules.hpp"

namespace kernsmith::agents {

std::span<const rule> rules_for(std::string_view target) {
  const std::string_view language = target.substr(0, target.find('/'));
  if (language == "cpp") return cpu_rules();
  if (language == "cuda" || language == "hip" || language == "triton") return nvidia_rules();
  return {};
}

}  // namespace kernsmith::agents
