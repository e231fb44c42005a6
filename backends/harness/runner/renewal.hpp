// One process after the other, each forked from a first one that has the interpreter and its libraries ready.
#pragma once

#include <functional>

namespace kernsmith::runner {

/// Answers the verifier's `renew` requests: ends the process that serves, and has `fork` (fork(2)'s results) make another. Returns in each
/// new process, whose control channel is then its own. The first process never returns: it ends when the verifier is gone, or as the
/// serving one did when that ends by itself.
void become_renewed(const std::function<int()>& fork);

}  // namespace kernsmith::runner
