// The compiler's sanitizers, as candidates are built for and run under them: flags, environment, and what their reports mean.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kernsmith::cpp {

enum class sanitizer : std::uint8_t { undefined, address, thread };

/// In the order in which they run: cheap ones first.
inline constexpr std::array all_sanitizers = {sanitizer::undefined, sanitizer::address, sanitizer::thread};

/// "AddressSanitizer": what its reports call it.
[[nodiscard]] std::string_view name_of(sanitizer which);
/// "libasan.so": to be loaded before anything else of the process.
[[nodiscard]] std::string runtime_of(sanitizer which);
/// Added to the flags of every build.
[[nodiscard]] std::vector<std::string> flags_of(sanitizer which);
/// Trusted source to build beside the candidate's; empty but for ThreadSanitizer, which has to be told what OpenMP orders.
[[nodiscard]] std::string_view companion_of(sanitizer which);
/// Of the runner: the options of its reports, and for ThreadSanitizer threads that are not bound, as more of them run than there are cores.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> environment_of(sanitizer which, int threads);
/// That a kernel is told to use: races want several, on however few cores.
[[nodiscard]] int threads_under(sanitizer which, int cores);

/// What a report says in the words of an evaluation.
struct sanitizer_finding {
  std::string outcome;
  std::string text;  ///< the report's own first line with the places in the candidate's source
};

/// The first report in what a process wrote; none when there is none. A kernel may print anything: this is asked only when its process has
/// ended, and can only be to its disadvantage.
[[nodiscard]] std::optional<sanitizer_finding> find_report(sanitizer which, std::string_view output);

/// openmp_annotations.cpp.in, carried in the program.
[[nodiscard]] std::string_view openmp_annotations_text();

}  // namespace kernsmith::cpp
