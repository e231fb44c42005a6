#include "backends/cpp/sanitizers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace kernsmith::cpp {

namespace {

constexpr int least_threads = 4, most_threads = 16;
/// No program of ours or of the candidate's is likely to end with it; only told, never relied on.
constexpr int report_exit_code = 86;

// In AddressSanitizer's words: memory that was not the kernel's to touch, by place or by time.
constexpr std::array<std::string_view, 12> outside_its_memory = {
    "buffer-overflow", "buffer-underflow",      "container-overflow",  "use-after-poison", "heap-use-after-free", "stack-use-after-return",
    "intra-object",    "stack-use-after-scope", "negative-size-param", "wild-addr",        "calloc-overflow",     "stack-buffer"};
// In UndefinedBehaviorSanitizer's.
constexpr std::array<std::string_view, 2> outside_its_object = {"out of bounds", "insufficient space"};

template <std::size_t N>
bool mentions(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::string_view line_at(std::string_view text, std::size_t at) {
  return text.substr(at, text.find('\n', at) - at);
}

/// "kernel.cpp:12" of each stack in a report: of its innermost frame in the candidate's source.
std::vector<std::string> places(std::string_view report, std::size_t most) {
  constexpr std::string_view source = "/build/kernel.cpp:";
  std::vector<std::string> found;
  bool stack_has_one = false;
  while (!report.empty() && found.size() < most) {
    const std::string_view line = line_at(report, 0);
    report.remove_prefix(std::min(report.size(), line.size() + 1));
    if (line.find(" #0 ") != std::string_view::npos) stack_has_one = false;
    const std::size_t at = line.find(source);
    if (at == std::string_view::npos || stack_has_one) continue;
    std::size_t end = at + source.size();
    while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) != 0) ++end;
    found.emplace_back(line.substr(at + std::string_view("/build/").size(), end - at - std::string_view("/build/").size()));
    stack_has_one = true;
  }
  return found;
}

/// The kind of access from the line after the headline ("READ of size 4 at 0x..." or "Write of size 8 ..."), without addresses.
std::string access_text(std::string_view after_headline) {
  for (const std::string_view kind :
       {"READ of size ", "WRITE of size ", "Write of size ", "Read of size ", "Atomic write of size ", "Atomic read of size "}) {
    const std::size_t at = after_headline.find(kind);
    if (at == std::string_view::npos) continue;
    const std::string_view line = line_at(after_headline, at);
    return std::string(line.substr(0, line.find(' ', kind.size())));
  }
  return "";
}

std::optional<sanitizer_finding> undefined_report(std::string_view output) {
  constexpr std::string_view mark = ": runtime error: ";
  const std::size_t at = output.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t begin = output.rfind('\n', at);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  std::string_view line = line_at(output, begin);
  if (line.starts_with("/build/")) line.remove_prefix(std::string_view("/build/").size());
  sanitizer_finding found{mentions(line, outside_its_object) ? "out_of_bounds" : "crashed", ""};
  found.text = fmt::format("UndefinedBehaviorSanitizer: undefined behaviour: {}", line);
  return found;
}

}  // namespace

std::string_view name_of(sanitizer which) {
  switch (which) {
    case sanitizer::undefined:
      return "UndefinedBehaviorSanitizer";
    case sanitizer::address:
      return "AddressSanitizer";
    case sanitizer::thread:
      break;
  }
  return "ThreadSanitizer";
}

std::string runtime_of(sanitizer which) {
  switch (which) {
    case sanitizer::undefined:
      return "libubsan.so";
    case sanitizer::address:
      return "libasan.so";
    case sanitizer::thread:
      break;
  }
  return "libtsan.so";
}

std::vector<std::string> flags_of(sanitizer which) {
  // The first level: a faster one removes undefined accesses before anybody sees them.
  std::vector<std::string> flags = {"-O1", "-g1", "-fno-omit-frame-pointer"};
  switch (which) {
    case sanitizer::undefined:
      flags.insert(flags.end(), {"-fsanitize=undefined", "-fno-sanitize-recover=all"});
      break;
    case sanitizer::address:
      // Variables begin as large numbers and fresh memory as NaNs: what is read without having been written shows in the outputs.
      flags.insert(flags.end(), {"-fsanitize=address", "-ftrivial-auto-var-init=pattern"});
      break;
    case sanitizer::thread:
      flags.insert(flags.end(), {"-fsanitize=thread"});
      break;
  }
  return flags;
}

std::string_view companion_of(sanitizer which) {
  return which == sanitizer::thread ? openmp_annotations_text() : std::string_view();
}

std::vector<std::pair<std::string, std::string>> environment_of(sanitizer which, int threads) {
  // No symbolizer of its own process (there are none in the sandbox), and its own handlers in the place of the runner's: they know lines.
  const std::string common = fmt::format(
      "halt_on_error=1:exitcode={}:color=never:external_symbolizer_path=:handle_segv=2:handle_sigbus=2:handle_sigfpe=2:"
      "allocator_may_return_null=1",
      report_exit_code);
  switch (which) {
    case sanitizer::undefined:
      return {{"UBSAN_OPTIONS", common}};
    case sanitizer::address:
      return {{"ASAN_OPTIONS", common +
                                   ":detect_leaks=0:detect_stack_use_after_return=1:quarantine_size_mb=64:max_malloc_fill_size=1073741824:"
                                   "malloc_fill_byte=255:print_legend=0"}};
    case sanitizer::thread:
      break;
  }
  const std::string count = std::to_string(threads);
  // Modules without instrumentation: libgomp copies what threads have handed to it.
  return {{"TSAN_OPTIONS", common + ":ignore_noninstrumented_modules=1:report_thread_leaks=0:report_signal_unsafe=0:detect_deadlocks=0"},
          {"OMP_NUM_THREADS", count},
          {"OMP_THREAD_LIMIT", count},
          {"OMP_PROC_BIND", "false"},
          {"OMP_STACKSIZE", "32M"},
          {"GOMP_SPINCOUNT", "0"}};
}

int threads_under(sanitizer which, int cores) {
  return which == sanitizer::thread ? std::clamp(cores, least_threads, most_threads) : cores;
}

std::optional<sanitizer_finding> find_report(sanitizer which, std::string_view output) {
  if (which == sanitizer::undefined) return undefined_report(output);
  const std::string mark = fmt::format("{}: ", name_of(which));
  std::size_t at = output.find("ERROR: " + mark);
  if (at == std::string_view::npos) at = output.find("WARNING: " + mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view report = output.substr(output.find(mark, at));
  std::string_view headline = line_at(report, 0);
  const std::string_view rest = report.substr(std::min(report.size(), headline.size() + 1));
  for (const std::string_view cut : {" on address ", " on unknown address ", " (pid=", " (0x"})
    headline = headline.substr(0, headline.find(cut));
  sanitizer_finding found{"crashed", std::string(headline)};
  if (which == sanitizer::thread && headline.find("data race") != std::string_view::npos) found.outcome = "nondeterministic";
  if (mentions(headline, outside_its_memory)) found.outcome = "out_of_bounds";
  if (headline.find("use-after-poison") != std::string_view::npos) found.text += " (beyond a buffer of the call)";
  if (const std::string access = access_text(rest); !access.empty()) found.text += ", " + access;
  // A race has two ends; of other faults the later stacks only tell where memory came from.
  if (const auto where = places(rest, which == sanitizer::thread ? 2 : 1); !where.empty())
    found.text += fmt::format(" at {}", fmt::join(where, " and "));
  return found;
}

}  // namespace kernsmith::cpp
