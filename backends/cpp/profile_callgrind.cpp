#include "backends/cpp/profile_callgrind.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

namespace kernsmith::cpp {

namespace {

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::int64_t bytes_of(const std::string& text) {
  if (text.empty()) return 0;
  const std::int64_t number = std::atoll(text.c_str());
  return text.back() == 'K' ? number << 10 : text.back() == 'M' ? number << 20 : number;
}

std::string geometry_text(const cache_geometry& c) {
  return fmt::format("{},{},{}", c.bytes, c.ways, c.line_bytes);
}

/// What follows "key=" when the line begins so.
std::optional<std::string> value_after(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  return std::string(line.substr(key.size()));
}

/// Columns of a cost line by event name.
class event_columns {
 public:
  explicit event_columns(const std::string& names) {
    std::istringstream words(names);
    for (std::string name; words >> name;) names_.push_back(name);
  }
  /// The numbers after the position; columns that a line leaves out are 0.
  [[nodiscard]] event_counts read(std::istringstream& line) const {
    event_counts c;
    double value = 0;
    for (std::size_t i = 0; i < names_.size() && line >> value; ++i) add(c, names_[i], value);
    return c;
  }

 private:
  static void add(event_counts& c, std::string_view name, double value) {
    if (name == "Ir") c.instructions += value;
    if (name == "Dr") c.reads += value;
    if (name == "Dw") c.writes += value;
    if (name == "I1mr") c.instruction_misses += value;
    if (name == "D1mr") c.read_misses += value;
    if (name == "D1mw") c.write_misses += value;
    if (name == "DLmr") c.deep_read_misses += value;
    if (name == "DLmw") c.deep_write_misses += value;
    if (name == "Bc" || name == "Bi") c.branches += value;
    if (name == "Bcm" || name == "Bim") c.mispredicted += value;
  }
  std::vector<std::string> names_;
};

}  // namespace

event_counts& event_counts::operator+=(const event_counts& other) {
  instructions += other.instructions;
  reads += other.reads;
  writes += other.writes;
  instruction_misses += other.instruction_misses;
  read_misses += other.read_misses;
  write_misses += other.write_misses;
  deep_read_misses += other.deep_read_misses;
  deep_write_misses += other.deep_write_misses;
  branches += other.branches;
  mispredicted += other.mispredicted;
  return *this;
}

cache_description describe_caches() {
  cache_description d;
  d.caches = {{32 << 10, 8, 64}, {32 << 10, 8, 64}, {1 << 20, 8, 64}};
  bool data = false, instruction = false, second = false;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    const cache_geometry found{bytes_of(first_line(folder + "size")), bytes_of(first_line(folder + "ways_of_associativity")),
                               bytes_of(first_line(folder + "coherency_line_size"))};
    if (found.bytes <= 0 || found.ways <= 0 || found.line_bytes <= 0) continue;
    const std::string level = first_line(folder + "level"), type = first_line(folder + "type");
    if (level == "1" && type == "Data") d.caches.data = found, data = true;
    if (level == "1" && type == "Instruction") d.caches.instruction = found, instruction = true;
    if (level == "2") d.caches.second = found, second = true;
  }
  d.assumed = !(data && instruction && second);
  return d;
}

cache_geometry simulatable(cache_geometry cache) {
  const std::int64_t sets = cache.bytes / (cache.ways * cache.line_bytes);
  if (sets <= 0) return cache;
  cache.bytes = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(sets))) * cache.ways * cache.line_bytes;
  return cache;
}

std::vector<std::string> callgrind_command(const std::filesystem::path& valgrind, const simulated_caches& caches,
                                           const std::string& counted_function, const std::string& output) {
  return {valgrind.string(),
          "--tool=callgrind",
          "--vgdb=no",
          "--toggle-collect=" + counted_function,
          "--cache-sim=yes",
          "--branch-sim=yes",
          "--dump-instr=yes",
          "--dump-line=no",
          "--compress-pos=no",
          "--compress-strings=no",
          "--callgrind-out-file=" + output,
          "--I1=" + geometry_text(simulatable(caches.instruction)),
          "--D1=" + geometry_text(simulatable(caches.data)),
          "--LL=" + geometry_text(simulatable(caches.second))};
}

result<callgrind_profile> parse_callgrind(const std::string& text) {
  callgrind_profile profile;
  event_columns columns("");
  std::string object = "?", called;
  bool inclusive = false;  // the line after "calls=" has what the callee took
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const auto names = value_after(line, "events: ")) columns = event_columns(*names);
    if (const auto name = value_after(line, "ob=")) object = *name;
    if (const auto name = value_after(line, "cfn=")) called = *name;
    if (const auto count = value_after(line, "calls=")) {
      profile.calls[called] += std::atof(count->c_str());
      inclusive = true;
      continue;
    }
    if (!line.starts_with("0x")) continue;
    if (std::exchange(inclusive, false)) continue;
    std::istringstream words(line);
    std::uint64_t address = 0;
    words >> std::hex >> address >> std::dec;
    const event_counts counts = columns.read(words);
    profile.total += counts;
    profile.objects[object] += counts;
    profile.instructions[object][address] += counts.instructions;
  }
  if (profile.total.instructions <= 0) return fail(fault::corrupt, "callgrind counted no instruction");
  return profile;
}

}  // namespace kernsmith::cpp
