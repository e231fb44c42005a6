#include "backends/cpp/profile_assembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace kernsmith::cpp {

namespace {

constexpr double rare = 0.1;  // of the loop's hottest instruction: below, it is a path off the loop
constexpr std::size_t max_block_instructions = 400;
constexpr std::size_t straight_window = 24;  // instructions around the hottest one where nothing loops

double count_at(const execution_counts& counts, std::uint64_t address) {
  const auto found = counts.find(address);
  return found == counts.end() ? 0 : found->second;
}

bool is_jump(const instruction& i) {
  return !i.mnemonic.empty() && i.mnemonic.front() == 'j';
}

/// "vfmadd231ps" -> 'p', "addss" -> 's', else 0: packed or scalar floating-point arithmetic.
char float_kind(std::string_view name) {
  if (name.size() < 4) return 0;
  if (name.front() == 'v') name.remove_prefix(1);
  const std::string_view end = name.substr(name.size() - 2);
  if (end != "ps" && end != "pd" && end != "ss" && end != "sd") return 0;
  static constexpr std::array<std::string_view, 12> arithmetic = {"add", "sub", "mul", "div", "sqrt", "max",
                                                                  "min", "rcp", "fma", "fnm", "fms",  "rsqrt"};
  for (const std::string_view word : arithmetic) {
    if (name.starts_with(word)) return end.front();
  }
  return 0;
}

bool is_division(std::string_view name) {
  if (name.starts_with("v")) name.remove_prefix(1);
  return name.starts_with("div") || name.starts_with("idiv") || name.starts_with("sqrt");
}

bool touches_memory(const instruction& i) {
  return i.operands.find('(') != std::string::npos && !i.mnemonic.starts_with("lea") && !i.mnemonic.starts_with("nop") &&
         !i.mnemonic.starts_with("prefetch");
}

bool touches_stack(const instruction& i) {
  return touches_memory(i) && (i.operands.find("(%rsp") != std::string::npos || i.operands.find("(%rbp)") != std::string::npos);
}

/// Does nothing at run time; assemblers trip over some forms of it.
bool is_filler(const instruction& i) {
  return i.mnemonic.starts_with("nop") || i.mnemonic == "data16" || i.mnemonic == "cs" || i.mnemonic == "xchg";
}

struct code_range {
  std::size_t first = 0, last = 0;  // inclusive
};

/// Backward jumps within a function: the loops, nested ones included.
std::vector<code_range> loops_of(const std::vector<instruction>& code) {
  std::vector<code_range> loops;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!is_jump(code[i]) || code[i].target == 0 || code[i].target > code[i].address) continue;
    const auto first = std::lower_bound(code.begin(), code.end(), code[i].target,
                                        [](const instruction& a, std::uint64_t address) { return a.address < address; });
    if (first == code.end() || first->address != code[i].target || first->function != code[i].function) continue;
    loops.push_back({static_cast<std::size_t>(first - code.begin()), i});
  }
  return loops;
}

bool contains(const code_range& outer, const code_range& inner) {
  return outer.first <= inner.first && inner.last <= outer.last && (outer.first != inner.first || outer.last != inner.last);
}

double executions(const std::vector<instruction>& code, const execution_counts& counts, const code_range& range) {
  double sum = 0;
  for (std::size_t i = range.first; i <= range.last; ++i) sum += count_at(counts, code[i].address);
  return sum;
}

hot_block straight_block(const std::vector<instruction>& code, const execution_counts& counts, counted_by how) {
  hot_block block;
  const auto hottest = std::max_element(code.begin(), code.end(), [&](const instruction& a, const instruction& b) {
    return count_at(counts, a.address) < count_at(counts, b.address);
  });
  if (hottest == code.end() || count_at(counts, hottest->address) <= 0) return block;
  const auto at = static_cast<std::size_t>(hottest - code.begin());
  const std::size_t first = at - std::min(at, straight_window / 2), last = std::min(code.size() - 1, at + straight_window / 2);
  const double least = how == counted_by::samples ? 0 : rare * count_at(counts, hottest->address);
  for (std::size_t i = first; i <= last; ++i) {
    if (code[i].function == hottest->function && count_at(counts, code[i].address) >= least) block.code.push_back(code[i]);
  }
  return block;
}

}  // namespace

std::vector<instruction> parse_disassembly(const std::string& text) {
  std::vector<instruction> code;
  std::string function;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(">:")) {  // 0000000000001140 <launch>:
      const std::size_t open = line.find('<');
      function = line.substr(open + 1, line.size() - open - 3);
      continue;
    }
    const std::size_t colon = line.find(":\t");
    if (colon == std::string::npos || line.front() != ' ') continue;
    instruction i;
    char* end = nullptr;
    i.address = std::strtoull(line.c_str(), &end, 16);
    if (*end != ':') continue;
    i.function = function;
    std::string rest = line.substr(colon + 2);
    if (const std::size_t comment = rest.find(" #"); comment != std::string::npos) rest.erase(comment);
    while (!rest.empty() && rest.back() == ' ') rest.pop_back();
    std::size_t space = rest.find(' ');
    while (space != std::string::npos && (rest.substr(0, space) == "notrack" || rest.substr(0, space) == "bnd")) {
      rest.erase(0, space + 1);
      space = rest.find(' ');
    }
    i.mnemonic = rest.substr(0, space);
    if (space != std::string::npos) i.operands = rest.substr(rest.find_first_not_of(' ', space));
    if (is_jump(i) && !i.operands.empty() && i.operands.front() != '*') i.target = std::strtoull(i.operands.c_str(), nullptr, 16);
    if (!i.mnemonic.empty()) code.push_back(std::move(i));
  }
  return code;
}

hot_block find_hot_block(const std::vector<instruction>& code, const execution_counts& counts, counted_by how) {
  double all = 0;
  for (const auto& [address, count] : counts) all += count;
  if (code.empty() || all <= 0) return {};
  const std::vector<code_range> loops = loops_of(code);
  const code_range* best = nullptr;
  double most = 0;
  for (const code_range& loop : loops) {
    const bool innermost = std::none_of(
        loops.begin(), loops.end(), [&](const code_range& other) { return contains(loop, other) && executions(code, counts, other) > 0; });
    const double weight = executions(code, counts, loop);
    if (innermost && weight > most && loop.last - loop.first < max_block_instructions) best = &loop, most = weight;
  }
  hot_block block;
  if (best != nullptr) {
    double hottest = 0;
    for (std::size_t i = best->first; i <= best->last; ++i) hottest = std::max(hottest, count_at(counts, code[i].address));
    for (std::size_t i = best->first; i <= best->last; ++i) {
      if (how == counted_by::samples || count_at(counts, code[i].address) >= rare * hottest) block.code.push_back(code[i]);
    }
    block.loop = true;
  } else {
    block = straight_block(code, counts, how);
  }
  double inside = 0;
  for (const instruction& i : block.code) inside += count_at(counts, i.address);
  block.share = inside / all;
  return block;
}

execution_counts once_each(const hot_block& block) {
  execution_counts counts;
  for (const instruction& i : block.code) counts[i.address] = 1;
  return counts;
}

std::string block_text(const hot_block& block) {
  std::string text;
  for (const instruction& i : block.code) text += fmt::format("{:6x}  {:<12} {}\n", i.address, i.mnemonic, i.operands);
  return text;
}

std::string block_assembly(const hot_block& block) {
  std::string text = "\t.text\n.Lblock:\n";
  for (const instruction& i : block.code) {
    if (is_filler(i) || i.mnemonic.starts_with("call") || i.mnemonic.starts_with("ret")) continue;
    if (is_jump(i)) {
      if (i.target != 0) text += fmt::format("\t{} .Lblock\n", i.mnemonic);
    } else {
      text += fmt::format("\t{} {}\n", i.mnemonic, i.operands);
    }
  }
  return text;
}

instruction_mix mix_of(const std::vector<instruction>& code, const execution_counts& counts) {
  instruction_mix mix;
  for (const instruction& i : code) {
    const double count = count_at(counts, i.address);
    if (count <= 0) continue;
    mix.total += count;
    const char kind = float_kind(i.mnemonic);
    if (kind == 'p') mix.packed_float += count;
    if (kind == 's') mix.scalar_float += count;
    if (touches_memory(i)) mix.loads_and_stores += count;
    if (touches_stack(i)) mix.stack_accesses += count;
    if (i.mnemonic.starts_with("vgather") || i.mnemonic.starts_with("vpgather")) mix.gathers += count;
    if (is_division(i.mnemonic)) mix.divisions += count;
    if (is_jump(i)) mix.branches += count;
    if (i.mnemonic.starts_with("call")) mix.calls += count;
  }
  if (mix.total <= 0) return mix;
  for (double* part : {&mix.packed_float, &mix.scalar_float, &mix.loads_and_stores, &mix.stack_accesses, &mix.gathers, &mix.divisions,
                       &mix.branches, &mix.calls})
    *part /= mix.total;
  return mix;
}

}  // namespace kernsmith::cpp
