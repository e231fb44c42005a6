// The error that crosses every border between rooms.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace kernsmith {

/// Who has to act on an error. Decides the exit code of a command (INTERFACE: exit codes).
enum class fault : std::uint8_t {
  bad_request,     ///< the user's request is wrong: exit 2, the message names file, line, column and the remedy
  missing_here,    ///< something the request needs is missing on this machine: exit 3, named with its remedy
  interrupted,     ///< stopped by a signal: exit 4, the message says how to resume
  infrastructure,  ///< this machine failed (disk full, lost process): retried, never a candidate's verdict; exit 3
  corrupt,         ///< stored data that can't be trusted: exit 3
  bug,             ///< ours: exit 70
};

/// What was being done, to what, what went wrong and what to do about it, in one message a person can act on.
struct error {
  fault kind = fault::bug;
  std::string message;
};

template <class T>
using result = tl::expected<T, error>;

/// Shorthand for the failing branch: `return fail(fault::bad_request, "...")`.
[[nodiscard]] inline tl::unexpected<error> fail(fault kind, std::string message) {
  return tl::unexpected<error>(error{kind, std::move(message)});
}

/// The process exit code that INTERFACE.md gives to this kind of fault.
[[nodiscard]] constexpr int exit_code(fault kind) {
  switch (kind) {
    case fault::bad_request:
      return 2;
    case fault::missing_here:
    case fault::infrastructure:
    case fault::corrupt:
      return 3;
    case fault::interrupted:
      return 4;
    case fault::bug:
      return 70;
  }
  return 70;
}

}  // namespace kernsmith
