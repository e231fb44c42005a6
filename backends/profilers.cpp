#include "backends/profilers.hpp"

#include <fmt/format.h>

#include "backends/cpp/profiler.hpp"
#include "backends/cuda/profiler.hpp"
#include "backends/hip/evaluator.hpp"
#include "backends/targets.hpp"

namespace kernsmith::backends {

result<memory::profile> profile_kernel(const std::string& target, const problem& p, const std::string& source,
                                       const memory::evaluation& measured, const harness::evaluator_options& options) {
  const std::string language = language_of(target);
  if (language == "cpp") return cpp::profile_kernel(p, source, measured, options);
  if (language == "cuda") return cuda::profile_kernel(p, source, measured, options);
  if (language == "hip") return hip::profile_kernel(p, source, measured, options);
  return fail(fault::bad_request, fmt::format("no profiler for target '{}'; there are some for: cpp, cuda, hip", target));
}

}  // namespace kernsmith::backends
