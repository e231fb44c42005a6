#include "backends/cuda/ptxas_report.hpp"

#include <algorithm>
#include <charconv>

namespace kernsmith::cuda {

namespace {

/// The number that stands before `unit` in a line, 0 without one: "Used 40 registers" and "128 bytes smem".
std::int64_t number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos || at == 0) return 0;
  std::size_t end = at;
  while (end > 0 && line[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  std::int64_t number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

}  // namespace

std::vector<kernel_resources> parse_ptxas_report(std::string_view log) {
  constexpr std::string_view opening = "Compiling entry function '";
  std::vector<kernel_resources> kernels;
  bool inside = false;  // between an entry function and its registers
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (const std::size_t at = line.find(opening); at != std::string_view::npos) {
      const std::string_view name = line.substr(at + opening.size());
      kernels.emplace_back().name = name.substr(0, name.find('\''));
      inside = true;
    } else if (inside && line.find("bytes stack frame") != std::string_view::npos) {
      kernels.back().stack_bytes = number_before(line, "bytes stack frame");
      kernels.back().spill_store_bytes = number_before(line, "bytes spill stores");
      kernels.back().spill_load_bytes = number_before(line, "bytes spill loads");
    } else if (inside && line.find("Used ") != std::string_view::npos) {
      kernels.back().registers = number_before(line, "registers");
      kernels.back().static_shared_bytes = number_before(line, "bytes smem");
      kernels.back().barriers = number_before(line, "barriers");
      inside = false;
    }
  }
  return kernels;
}

kernel_resources largest_resources(const std::vector<kernel_resources>& kernels) {
  kernel_resources most;
  for (const kernel_resources& k : kernels) {
    most.registers = std::max(most.registers, k.registers);
    most.stack_bytes = std::max(most.stack_bytes, k.stack_bytes);
    most.spill_store_bytes = std::max(most.spill_store_bytes, k.spill_store_bytes);
    most.spill_load_bytes = std::max(most.spill_load_bytes, k.spill_load_bytes);
    most.static_shared_bytes = std::max(most.static_shared_bytes, k.static_shared_bytes);
    most.barriers = std::max(most.barriers, k.barriers);
  }
  return most;
}

}  // namespace kernsmith::cuda
