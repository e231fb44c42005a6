#include "backends/harness/openmp_environment.hpp"

#include <fmt/format.h>

namespace kernsmith::harness {

std::vector<std::pair<std::string, std::string>> openmp_environment(const std::vector<int>& cores) {
  std::string places;
  for (const int core : cores) places += fmt::format("{}{{{}}}", places.empty() ? "" : ",", core);
  const std::string threads = std::to_string(cores.size());
  return {
      {"OMP_NUM_THREADS", threads},
      {"OMP_THREAD_LIMIT", threads},
      {"OMP_DYNAMIC", "false"},
      {"OMP_PROC_BIND", "true"},
      {"OMP_PLACES", places},
      // Idle OpenMP threads spin before they sleep, by default for milliseconds. Candidate and baseline take turns on the same cores, so
      // one leg's spinning would run into the other's timed calls. No spinning at all would charge every parallel region a wake-up from
      // sleep. The count is between: long enough to bridge the regions and barriers of one kernel, short enough for runner_client::settle()
      // to wait for its end. 1000 rounds were measured to be 25 us on a Zen 4 core; cores with a longer pause instruction take up to three
      // times that.
      {"OMP_WAIT_POLICY", "passive"},
      {"GOMP_SPINCOUNT", "4000"},
      {"OPENBLAS_NUM_THREADS", threads},
      // OpenBLAS has threads of its own, which by default spin for 2^26 cycles after a call: into the other leg's calls. 2^18 is about 100
      // us.
      {"OPENBLAS_THREAD_TIMEOUT", "18"},
  };
}

}  // namespace kernsmith::harness
