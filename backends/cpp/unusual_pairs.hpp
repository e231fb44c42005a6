// Pairs of timed calls that do not count, with an unusual renewal of the contents: what convicts a kernel that keeps answers.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "backends/cpp/verification.hpp"
#include "backends/harness/kept_answers.hpp"
#include "backends/harness/statistics.hpp"

namespace kernsmith::cpp {

/// One such pair, and as many more as a suspicion asks for. `pair(renewal, timing_block&)` makes one and returns what its outputs were
/// found to be; `random()` gives 64 bits. An empty outcome when nothing is shown; `cheating` (kept_answers) when a trial convicts; an error
/// of kind interrupted when `stop` is set between two pairs.
template <class Random, class Pair>
result<check_result> unusual_pairs(harness::kept_answers& kept, const std::atomic<bool>* stop, const std::string& what, Random random,
                                   Pair pair) {
  do {
    if (stop != nullptr && stop->load()) return fail(fault::interrupted, "stopped while a candidate was timed");
    const harness::renewal kind = kept.next(random());
    harness::timing_block uncounted;
    result<check_result> ran = pair(kind, uncounted);
    if (!ran || !ran->ok()) return ran;
    kept.add(kind, uncounted.candidate_ns.front(), uncounted.baseline_ns.empty() ? 0 : uncounted.baseline_ns.front());
  } while (kept.on_trial());
  check_result done;
  if (const auto saving = kept.saving()) {
    done.outcome = "cheating";
    done.rule = "kept_answers";
    done.detail = fmt::format("{}: it takes {:.2f} times as long when all of its inputs are new as when a part of them is: it remembers",
                              what, *saving);
  }
  return done;
}

}  // namespace kernsmith::cpp
