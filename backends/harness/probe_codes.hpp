// Exit codes of the sandbox's probes (kernsmith-runner probe ...). Any other code means that a probe did not run, which proves nothing.
#pragma once

namespace kernsmith::harness {

inline constexpr int probe_refused = 40;  ///< the forbidden thing was tried and did not work
inline constexpr int probe_reached = 41;  ///< it worked

}  // namespace kernsmith::harness
