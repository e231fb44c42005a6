#include "actors/commands/problem_argument.hpp"

#include <fmt/format.h>
#include <sys/sysinfo.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>

#include "actors/commands/command_line.hpp"
#include "backends/pytorch/front_end.hpp"

namespace kernsmith::actors {

namespace {

/// Evaluation holds a workload several times (reference, candidate, baseline, fresh contents): a quarter of the memory is one copy's share,
/// and no workload may take more than the evaluator's own limit.
constexpr std::int64_t max_copy_bytes = std::int64_t{8} << 30;
constexpr std::int64_t copies = 4;

std::int64_t memory_of_a_copy() {
  struct sysinfo facts {};
  if (::sysinfo(&facts) != 0) return max_copy_bytes;
  return std::min(max_copy_bytes, static_cast<std::int64_t>(facts.totalram) * static_cast<std::int64_t>(facts.mem_unit) / copies);
}

result<std::map<std::string, std::int64_t>> constants_of(const std::vector<std::string>& axes) {
  std::map<std::string, std::int64_t> constants;
  for (const std::string& text : axes) {
    const std::size_t equals = text.find('=');
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto read = equals == std::string::npos ? std::from_chars_result{end, std::errc::invalid_argument}
                                                  : std::from_chars(text.data() + equals + 1, end, value);
    if (read.ec != std::errc() || read.ptr != end || value < 1 || equals == 0)
      return fail(fault::bad_request, fmt::format("--axis {}: write NAME=VALUE with an integer of at least 1, as in batch_size=16", text));
    constants[text.substr(0, equals)] = value;
  }
  return constants;
}

}  // namespace

void add_problem_options(CLI::App& command, problem_options& options) {
  command
      .add_option("--axis", options.axes, "For a PyTorch module: another value for one of its file's integer constants; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command.add_flag("--fit", options.fit, "For a PyTorch module: halve its largest axes until a workload fits into memory");
}

result<given_problem> load_given(const std::string& file, const problem_options& options) {
  if (!pytorch::is_module_file(file)) {
    if (!options.axes.empty() || options.fit)
      return fail(fault::bad_request,
                  fmt::format("{}: --axis and --fit are for PyTorch modules (.py); a problem file says its sizes under [axes] and "
                              "[[workloads]]",
                              file));
    auto loaded = load_problem(file);
    if (!loaded) return tl::unexpected(loaded.error());
    given_problem given;
    given.task = std::move(*loaded);
    if (auto text = read_file(given.task.path)) given.text = std::move(*text);
    return given;
  }
  auto constants = constants_of(options.axes);
  if (!constants) return tl::unexpected(constants.error());
  pytorch::trace_options how;
  how.constants = std::move(*constants);
  how.memory_bytes = memory_of_a_copy();
  how.fit = options.fit;
  auto traced = pytorch::trace_module(file, how);
  if (!traced) return tl::unexpected(traced.error());
  return given_problem{std::move(traced->task), std::move(traced->text), std::move(traced->notes)};
}

}  // namespace kernsmith::actors
