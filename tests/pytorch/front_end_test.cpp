// PyTorch modules as problems. tests/pytorch/families has one file per family of operators, each a module whose results are named; the
// proof at admission compares every one with the module itself. tests/pytorch/refused has files that can't become problems.
#include "backends/pytorch/front_end.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "backends/pytorch/python_installation.hpp"

using namespace kernsmith;
namespace fs = std::filesystem;

namespace {

const fs::path folder = fs::path(KERNSMITH_SOURCE_DIR) / "tests/pytorch";

/// Without PyTorch there is nothing to test; ctest shows the case as skipped.
bool no_pytorch() {
  if (pytorch::find_python()) return false;
  MESSAGE("SKIPPED: there is no PyTorch");
  return true;
}

std::vector<fs::path> files_in(const fs::path& where) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(where))
    if (entry.path().extension() == ".py") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE(!files.empty());
  return files;
}

pytorch::traced_module traced(const fs::path& file, const pytorch::trace_options& options = {}) {
  auto made = pytorch::trace_module(file, options);
  REQUIRE_MESSAGE(made.has_value(), (made ? std::string() : made.error().message));
  return std::move(*made);
}

std::string refusal(const fs::path& file, const pytorch::trace_options& options = {}) {
  const auto made = pytorch::trace_module(file, options);
  REQUIRE_MESSAGE(!made.has_value(), file.string());
  CHECK_MESSAGE(made.error().kind == fault::bad_request, made.error().message);
  return made.error().message;
}

/// A module's file in a temporary folder.
class written_module {
 public:
  explicit written_module(const std::string& text) {
    std::string path = (fs::temp_directory_path() / "kernsmith-module-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    folder_ = path;
    std::ofstream(file()) << text;
  }
  ~written_module() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  written_module(const written_module&) = delete;
  written_module& operator=(const written_module&) = delete;
  [[nodiscard]] fs::path file() const { return folder_ / "Module.py"; }

 private:
  fs::path folder_;
};

constexpr const char* linear_softmax = R"(
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, inner, columns):
        super().__init__()
        self.fc = nn.Linear(inner, columns)

    def forward(self, x):
        return torch.softmax(torch.relu(self.fc(x)), dim=1)

rows = 64
inner, columns = 4096, 2048

def get_inputs():
    return [torch.rand(rows, inner)]

def get_init_inputs():
    return [inner, columns]
)";

}  // namespace

TEST_CASE("every family of operators is traced to what the module computes") {
  if (no_pytorch()) return;
  for (const fs::path& file : files_in(folder / "families")) {
    CAPTURE(file.string());
    const auto made = pytorch::trace_module(file);
    CHECK_MESSAGE(made.has_value(), (made ? std::string() : made.error().message));
    if (!made) continue;
    CHECK(made->samples >= 3);
    CHECK(made->largest_difference < 1e-9);
  }
}

TEST_CASE("what can't become a problem is refused with its place") {
  if (no_pytorch()) return;
  const std::map<std::string, std::vector<std::string>> expected = {
      {"bags_by_offsets", {":10: ", "'embedding_bag'", "offsets"}},
      {"changes_with_calls", {":9: ", "called again"}},
      {"classes_unknown", {":7: ", "'one_hot'", "num_classes"}},
      {"depends_on_values", {":6: ", "'__bool__' reads a tensor's elements"}},
      {"eats_memory", {":3: ", "more memory"}},
      {"exits", {":5: ", "ends the program"}},
      {"exits_at_once", {":5: ", "ends the program"}},
      {"gives_no_tensor", {":6: ", "results are tensors"}},
      {"inputs_are_a_tensor", {":9: ", "must give a list"}},
      {"kills_itself", {"ended the process that traced it"}},
      {"live_dropout", {":10: ", "live randomness", "p = 0.2"}},
      {"missing_package", {":2: ", "imports 'numpyro', which is not here"}},
      {"moves_to_cuda", {":6: ", "CUDA"}},
      {"nearest_at_grid", {":7: ", "'grid_sample'", "'nearest'"}},
      {"needs_cuda", {":10: ", "asks for the device 'cuda'"}},
      {"no_inputs", {"has no 'get_inputs'"}},
      {"no_lowering", {":7: ", "linalg_inv", "no lowering"}},
      {"no_model", {"has no 'Model'"}},
      {"raises", {":6: ", "shape '[7, 9]' is invalid"}},
      {"random_state", {":6: ", "live randomness: 'randn'"}},
      {"reads_the_host", {":3: ", "/root/.bashrc", "read-only"}},
      {"syntax_error", {":3: ", "no valid Python"}},
      {"uses_the_network", {":4: ", "without network"}},
      {"writes_files", {":3: ", "Read-only file system"}},
  };
  std::set<std::string> seen;
  for (const fs::path& file : files_in(folder / "refused")) {
    const std::string name = file.stem().string();
    if (name.starts_with("loops_") || name == "needs_64_gigabytes") continue;  // cases of their own
    CAPTURE(name);
    REQUIRE(expected.count(name) == 1);
    seen.insert(name);
    const std::string message = refusal(file);
    CHECK_MESSAGE(message.starts_with(file.string()), message);
    for (const std::string& part : expected.at(name)) CHECK_MESSAGE(message.find(part) != std::string::npos, message);
  }
  CHECK(seen.size() == expected.size());
}

TEST_CASE("what doesn't end is stopped, with the line it was at") {
  if (no_pytorch()) return;
  pytorch::trace_options soon;
  soon.module_time_s = 3;
  for (const char* name : {"loops_in_python", "loops_forever"}) {
    const std::string message = refusal(folder / "refused" / (std::string(name) + ".py"), soon);
    CHECK_MESSAGE((message.find("come to an end") != std::string::npos || message.find("unrolled loop") != std::string::npos), message);
    CHECK_MESSAGE(message.find(".py:") != std::string::npos, message);
  }
}

TEST_CASE("a workload that doesn't fit is refused with the numbers, or made to fit and said so") {
  if (no_pytorch()) return;
  pytorch::trace_options most;
  most.memory_bytes = std::int64_t{8} << 30;
  const fs::path file = folder / "refused/needs_64_gigabytes.py";
  const std::string message = refusal(file, most);
  CHECK_MESSAGE(message.find("needs 64.0 GB") != std::string::npos, message);
  CHECK_MESSAGE(message.find("--axis n=4000") != std::string::npos, message);
  most.fit = true;
  const auto made = traced(file, most);
  CHECK(pytorch::workload_bytes(made.task, made.task.workloads.front().axes) <= 8.6e9);
  REQUIRE(made.notes.size() == 1);
  CHECK(made.notes[0].find("n 4000 -> 500") != std::string::npos);
}

TEST_CASE("sizes that follow a module's constants are axes, and can be given") {
  if (no_pytorch()) return;
  const written_module module(linear_softmax);
  const auto made = traced(module.file());
  const problem& p = made.task;
  CHECK(p.name == "module");
  REQUIRE(p.axes.size() == 3);
  std::map<std::string, std::int64_t> extents;
  for (const axis& a : p.axes) extents[a.name] = a.extent;
  CHECK(extents == std::map<std::string, std::int64_t>{{"rows", 64}, {"inner", 4096}, {"columns", 2048}});
  REQUIRE(p.module.has_value());
  CHECK(p.module->parameters == std::map<std::string, std::string>{{"fc_weight", "fc.weight"}, {"fc_bias", "fc.bias"}});
  CHECK(p.module->constants.at("inner") == "inner");
  CHECK(p.module->overrides.empty());
  CHECK(p.statements.size() == 6);
  CHECK(made.text.find("linear_1[i, j] = sum(r: x[i, r] * fc_weight[j, r]) + fc_bias[j]") != std::string::npos);
  // The weights are drawn as nn.Linear draws them: within 1 / sqrt(inner).
  CHECK(p.tensors[1].init.which == init_spec::kind::uniform);
  CHECK(p.tensors[1].init.hi == doctest::Approx(1.0 / 64));

  pytorch::trace_options given;
  given.constants["rows"] = 7;
  const auto smaller = traced(module.file(), given);
  CHECK(smaller.task.workloads.front().axes != p.workloads.front().axes);
  CHECK(smaller.task.hash != p.hash);
  given.constants = {{"row", 7}};
  CHECK(refusal(module.file(), given).find("did you mean 'rows'?") != std::string::npos);
}

TEST_CASE("the problem made from a module is a problem file like any other") {
  if (no_pytorch()) return;
  const written_module module(linear_softmax);
  const auto made = traced(module.file());
  const auto again = parse_problem(made.text, module.file().parent_path() / "problem.toml");
  REQUIRE_MESSAGE(again.has_value(), (again ? std::string() : again.error().message));
  CHECK(again->hash == made.task.hash);
}

TEST_CASE("borders that are searched are sorted in the problem, as they are in the module's inputs") {
  if (no_pytorch()) return;
  const problem task = traced(folder / "families/lookups.py").task;
  const auto init_of = [&](const std::string& name) {
    const auto found = std::find_if(task.tensors.begin(), task.tensors.end(), [&](const tensor_declaration& t) { return t.name == name; });
    REQUIRE(found != task.tensors.end());
    return found->init;
  };
  for (const char* borders : {"edges", "line"}) {
    CHECK(init_of(borders).which == init_spec::kind::sorted);
    CHECK(init_of(borders).of.front().which == init_spec::kind::normal);
  }
  CHECK(init_of("x").which == init_spec::kind::normal);
}

TEST_CASE("what a module prints is no part of its trace") {
  if (no_pytorch()) return;
  const written_module module(std::string("print('x' * 100, '\\n' * 8000000)\n") + linear_softmax);
  CHECK(traced(module.file()).samples == 5);
}

TEST_CASE("a FlashInfer-Trace definition with its workloads") {
  if (no_pytorch()) return;
  const auto made = traced(folder / "flashinfer/rmsnorm_h512.json");
  const problem& p = made.task;
  CHECK(p.name == "rmsnorm_h512");
  REQUIRE(p.workloads.size() == 2);
  std::set<std::vector<std::int64_t>> sizes;
  for (const workload& w : p.workloads) sizes.insert(w.axes);
  CHECK(sizes == std::set<std::vector<std::int64_t>>{{64, 512}, {7, 512}});
  CHECK(p.tensors[0].type == dtype::bf16);
  CHECK(p.compare.rtol == 1e-2);
  REQUIRE(p.module.has_value());
  CHECK(p.module->source.text.find("class Model(torch.nn.Module)") != std::string::npos);
}
