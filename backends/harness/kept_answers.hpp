// Kernels that remember earlier contents. Fresh contents change a part of the inputs, so that caches stay warm; a kernel that keeps inputs
// and answers could compute just that part. Now and then everything is new, and then such a kernel takes longer than it otherwise does.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace kernsmith::harness {

/// What is done to the inputs before a timed call.
enum class renewal : std::uint8_t {
  part,            ///< the usual: an unpredictable part changes
  part_rewritten,  ///< the same part, but all bytes are written again: caches as with `whole`
  whole,           ///< everything changes
};

/// Times of one kernel with the two unusual renewals, drawn at random among the usual calls. Their difference is what it saves by
/// remembering: contents of both kinds are alike, and so are the caches.
///
/// A few such pairs, seen in passing, can only raise a suspicion: on a machine that others use, four slow calls in a row happen. A
/// suspicion is tried at once, on pairs of its own that it has had no part in choosing; only they convict.
class kept_answers {
 public:
  /// One of the two, as `random` says, but never many of one kind without the other.
  [[nodiscard]] renewal next(std::uint64_t random) const;
  /// `ns` of the kernel, and of the other leg on the same contents beside it (0: not timed).
  void add(renewal kind, double ns, double other_ns = 0);
  /// A suspicion stands: more pairs are wanted now.
  [[nodiscard]] bool on_trial() const { return on_trial_; }
  /// How many times longer calls on wholly new contents take, where a trial has shown it: by the clock alone, and as a multiple of what the
  /// other leg took at the same moment, so that a burst of other work on the machine accuses nobody.
  [[nodiscard]] std::optional<double> saving() const { return saving_; }

 private:
  struct series {
    std::vector<double> part, whole;
    [[nodiscard]] std::size_t fewest() const;
    [[nodiscard]] double ratio() const;
    /// Share of all (whole, part) couples in which `whole` took longer: 0.5 by chance, 1 when the kinds are wholly apart.
    [[nodiscard]] double apart() const;
  };
  /// Times, and multiples of the other leg's.
  struct account {
    series ns, multiple;
    bool compared = true;  ///< every sample had another leg
    void add(renewal kind, double of_kernel, double of_other);
    [[nodiscard]] bool suspicious() const;
    [[nodiscard]] bool hopeless() const;
    [[nodiscard]] bool complete() const;
    [[nodiscard]] std::optional<double> verdict() const;
  };
  account watched_, trial_;
  bool on_trial_ = false;
  std::optional<double> saving_;
};

}  // namespace kernsmith::harness
