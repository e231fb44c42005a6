#include "backends/profilers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/profiler.hpp"
#include "backends/cpp/reference_source.hpp"
#include "backends/cuda/profiler.hpp"
#include "backends/cuda/reference_source.hpp"
#include "backends/hip/evaluator.hpp"
#include "backends/targets.hpp"

namespace kernsmith::backends {

bool has_profiler(const std::string& target) {
  const std::string language = language_of(target);
  return language == "cpp" || language == "cuda" || language == "hip";
}

result<memory::profile> profile_kernel(const std::string& target, const problem& p, const std::string& source,
                                       const memory::evaluation& measured, const harness::evaluator_options& options) {
  const std::string language = language_of(target);
  if (language == "cpp") return cpp::profile_kernel(p, source, measured, options);
  if (language == "cuda") return cuda::profile_kernel(p, source, measured, options);
  if (language == "hip") return hip::profile_kernel(p, source, measured, options);
  return fail(fault::bad_request, fmt::format("no profiler for target '{}'; there are some for: cpp, cuda, hip", target));
}

bool has_baseline_for(const std::string& target, const problem& p) {
  if (!has_own_device(target) || !p.statements.empty()) return true;
  const std::string language = language_of(target);
  return std::any_of(p.baselines.begin(), p.baselines.end(),
                     [&](const baseline_spec& b) { return b.source && (b.source->language == language || b.source->language == "cuda"); });
}

problem with_itself_as_baseline(const std::string& target, const problem& p, const std::string& source) {
  problem given = p;
  given.baselines.insert(given.baselines.begin(), {"itself", "", source_file{language_of(target), "the given kernel", source, "itself"}});
  return given;
}

std::string baseline_source(const std::string& target, const problem& p) {
  if (p.baselines.empty()) return "";
  const baseline_spec& first = p.baselines.front();
  const std::string language = language_of(target);
  if (first.source) return first.source->language == language ? first.source->text : "";
  if (first.builtin != "naive" || (language != "cpp" && language != "cuda")) return "";
  return (language == "cpp" ? cpp::naive_source(p) : cuda::naive_source(p)).value_or("");
}

}  // namespace kernsmith::backends
