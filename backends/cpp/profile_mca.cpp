#include "backends/cpp/profile_mca.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

namespace kernsmith::cpp {

namespace {

/// The number after "name:" at a line's start; 0 when there is none.
double summary_value(const std::string& text, const std::string& name) {
  std::size_t at = text.rfind(name + ":", 0) == 0 ? 0 : text.find("\n" + name + ":");
  if (at == std::string::npos) return 0;
  at = text.find(':', at);
  return std::atof(text.c_str() + at + 1);
}

struct resource {
  std::string index, name;
};

/// "[12.0] - Zn3FPP45" lines.
std::vector<resource> resources_of(const std::string& text) {
  std::vector<resource> all;
  std::istringstream lines(text.substr(std::min(text.size(), text.find("\nResources:\n"))));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("[")) {
    const std::size_t close = line.find(']'), dash = line.find("- ");
    if (close == std::string::npos || dash == std::string::npos) break;
    all.push_back({line.substr(1, close - 1), line.substr(dash + 2)});
  }
  return all;
}

}  // namespace

std::vector<std::string> mca_command(const std::filesystem::path& llvm_mca, const std::string& assembly) {
  return {llvm_mca.string(),     "-mcpu=native",         fmt::format("-iterations={}", mca_iterations),
          "-instruction-info=0", "-resource-pressure=1", assembly};
}

result<mca_report> parse_mca(const std::string& text) {
  mca_report report;
  const double iterations = summary_value(text, "Iterations"), cycles = summary_value(text, "Total Cycles");
  if (iterations <= 0 || cycles <= 0) return fail(fault::corrupt, "llvm-mca gave no summary");
  report.cycles_per_iteration = cycles / iterations;
  report.ipc = summary_value(text, "IPC");
  report.throughput_cycles = summary_value(text, "Block RThroughput");
  const std::vector<resource> resources = resources_of(text);
  std::size_t at = text.find("\nResource pressure per iteration:\n");
  if (at == std::string::npos || resources.empty()) return report;
  std::istringstream lines(text.substr(at + 1));
  std::string line;
  for (int i = 0; i < 3; ++i) std::getline(lines, line);  // title, indices, values
  std::istringstream values(line);
  for (const resource& r : resources) {
    std::string value;
    if (!(values >> value)) break;
    const double share = std::atof(value.c_str()) / report.cycles_per_iteration;  // "-" is 0
    if (share > report.busiest_port_share) {
      report.busiest_port_share = share;
      report.busiest_port = r.name;
    }
  }
  return report;
}

}  // namespace kernsmith::cpp
