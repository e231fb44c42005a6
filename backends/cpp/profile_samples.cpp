#include "backends/cpp/profile_samples.hpp"

#include <algorithm>
#include <map>

namespace kernsmith::cpp {

code_owner owner_of(std::string_view object, std::string_view library) {
  if (object == library) return code_owner::kernel;
  const std::string_view name = object.substr(object.rfind('/') + 1);
  const auto is = [name](std::string_view stem) { return name.starts_with(stem) && name.substr(stem.size()).starts_with("."); };
  if (is("libgomp") || is("libomp") || is("libpthread") || is("libtbb")) return code_owner::runtime;
  if (is("libm") || is("libmvec")) return code_owner::math;
  if (is("libc")) return code_owner::memory;
  return code_owner::other;
}

sample_summary summarise(const std::vector<harness::profile_sample>& samples, std::string_view library, std::size_t threads) {
  sample_summary s;
  std::map<long, double> working;
  for (const harness::profile_sample& sample : samples) {
    const auto count = static_cast<double>(sample.count);
    const code_owner owner = owner_of(sample.object, library);
    s.count += count;
    switch (owner) {
      case code_owner::kernel:
        s.kernel += count;
        break;
      case code_owner::runtime:
        s.runtime += count;
        break;
      case code_owner::math:
        s.math += count;
        break;
      case code_owner::memory:
        s.memory += count;
        break;
      case code_owner::other:
        s.other += count;
        break;
    }
    if (owner != code_owner::runtime) working[sample.thread] += count;
  }
  if (s.count <= 0) return s;
  for (double* share : {&s.kernel, &s.runtime, &s.math, &s.memory, &s.other}) *share /= s.count;
  double most = 0, all = 0;
  for (const auto& [thread, count] : working) {
    most = std::max(most, count);
    all += count;
  }
  const auto expected = static_cast<double>(std::max(threads, working.size()));
  if (most > 0) s.imbalance = 1 - all / expected / most;
  return s;
}

}  // namespace kernsmith::cpp
