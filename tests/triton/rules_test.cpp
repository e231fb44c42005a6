// What the rules write for Triton is right, whatever is decided: the preferred decisions and others in several mixtures.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "triton_cases.hpp"

using namespace kernsmith;
using namespace kernsmith::fixtures;

namespace {

const std::filesystem::path source_folder = KERNSMITH_SOURCE_DIR;

problem loaded(const std::filesystem::path& file) {
  result<problem> p = load_problem(file);
  if (!p) FAIL(p.error().message);
  return std::move(*p);
}

/// The problem's axes, made small: odd extents, which no block divides.
std::vector<std::int64_t> small_axes(const problem& p, std::int64_t most) {
  std::vector<std::int64_t> axes = p.workloads.front().axes;
  std::int64_t next = most;
  for (std::int64_t& extent : axes)
    if (extent > next) {
      extent = next;
      next = std::max<std::int64_t>(3, next - 2);
    }
  return axes;
}

}  // namespace

TEST_CASE("the examples, small") {
  if (skipped()) return;
  case_list cases;
  const std::map<std::string, std::vector<std::int64_t>> other = {{"max_pool.toml", {2, 3, 14, 14, 7, 7}}};
  for (const auto& entry : std::filesystem::directory_iterator(source_folder / "docs/examples")) {
    if (entry.path().extension() != ".toml") continue;
    const problem p = loaded(entry.path());
    if (p.statements.empty()) continue;
    const auto found = other.find(entry.path().filename().string());
    cases.add(p, found != other.end() ? found->second : small_axes(p, p.axes.size() > 4 ? 9 : 37), 2);
  }
  cases.check();
}

TEST_CASE("dtypes, rows, positions, products, windows, arithmetic in double") {
  if (skipped()) return;
  case_list cases;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder / "tests/opencl/problems")) {
    const problem p = loaded(entry.path());
    cases.add(p, p.workloads.front().axes, 4);
  }
  cases.check();
}
