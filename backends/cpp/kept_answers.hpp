// Kernels that remember earlier contents. Fresh contents change a part of the inputs, so that caches stay warm; a kernel that keeps inputs
// and answers could compute just that part. Now and then everything is new, and then such a kernel takes longer than it otherwise does.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace kernsmith::cpp {

/// What is done to the inputs before a timed call.
enum class renewal : std::uint8_t {
  part,            ///< the usual: an unpredictable part changes
  part_rewritten,  ///< the same part, but all bytes are written again: caches as with `whole`
  whole,           ///< everything changes
};

/// Times of one kernel with the two unusual renewals, drawn at random among the usual calls. Their difference is what it saves by
/// remembering: contents of both kinds are alike, and so are the caches.
class kept_answers {
 public:
  /// One of the two, as `random` says, but never many of one kind without the other.
  [[nodiscard]] renewal next(std::uint64_t random) const;
  /// `ns` of the kernel, and of the other leg on the same contents beside it (0: not timed).
  void add(renewal kind, double ns, double other_ns = 0);
  /// How many times longer calls on wholly new contents take, where that is beyond doubt: by the clock alone, and as a multiple of what the
  /// other leg took at the same moment, so that a burst of other work on the machine accuses nobody.
  [[nodiscard]] std::optional<double> saving() const;

 private:
  /// Times, and multiples of the other leg's.
  struct series {
    std::vector<double> part, whole;
    [[nodiscard]] std::optional<double> saving() const;
  };
  series ns_, multiple_;
  bool compared_ = true;  ///< every sample had another leg
};

}  // namespace kernsmith::cpp
