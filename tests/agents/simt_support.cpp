#include "simt_support.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "config/hash.hpp"

namespace kernsmith::agents::testing {
namespace {

/// Gone with the test program.
class scratch_folder {
 public:
  scratch_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kernsmith-simt-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

const std::filesystem::path& scratch() {
  static const scratch_folder folder;
  return folder.path();
}

std::string first_lines(const std::filesystem::path& file, int count) {
  std::ifstream in(file);
  std::string text, line;
  for (int i = 0; i < count && std::getline(in, line); ++i) text += line + "\n";
  return text;
}

}  // namespace

problem example_problem(const std::string& file) {
  result<problem> p = load_problem(std::filesystem::path(KERNSMITH_SOURCE_DIR) / "docs/examples" / file);
  if (!p) FAIL(p.error().message);
  return std::move(*p);
}

std::unique_ptr<generator> cuda_generator(const problem& p, const std::string& architecture) {
  memory::device_facts facts;
  facts.architecture = architecture;
  result<std::unique_ptr<generator>> made = simt::make_simt_rules_generator(p, facts, simt::dialect::cuda);
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}

std::unique_ptr<generator> hip_generator(const problem& p) {
  result<std::unique_ptr<generator>> made = simt::make_simt_rules_generator(p, {}, simt::dialect::hip);
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}

/// "-include ..." of a precompiled header with what every emitted source includes; made when a second source shows that it pays.
std::string precompiled_headers(const std::string& flags) {
  static int compilations = 0;
  static std::string option;
  if (++compilations != 2) return option;
  const std::filesystem::path header = scratch() / "emulated_headers.h";
  std::ofstream(header) << "#include \"cuda_runtime.h\"\n#include \"cuda_bf16.h\"\n#include \"cuda_fp16.h\"\n#include \"cuda_fp8.h\"\n"
                           "#include \"cuda_pipeline.h\"\n";
  if (std::system(fmt::format("g++ -x c++-header {0} '{1}' -o '{1}.gch'", flags, header.string()).c_str()) == 0)
    option = fmt::format("-include '{}'", header.string());
  return option;
}

result<std::filesystem::path> compile_emulated(const std::string& source, const emulated_device& device) {
  static std::map<std::string, std::filesystem::path> built;
  const std::string key = content_hash(fmt::format("{} {}", device.warp, source));
  if (const auto found = built.find(key); found != built.end()) return found->second;
  const std::filesystem::path text = scratch() / (key + ".cu"), library = scratch() / (key + ".so"), log = scratch() / (key + ".log");
  std::ofstream(text) << source;
  const std::string flags =
      fmt::format("-std=c++17 -O1 -fPIC -w -DEMULATED_WARP={1} -I'{0}/tests/agents/simt_emulation' -I'{0}/backends/harness'",
                  KERNSMITH_SOURCE_DIR, device.warp);
  const std::string headers = device.language == simt::dialect::cuda ? precompiled_headers(flags) : "";
  const std::string command =
      fmt::format("g++ {} {} -x c++ -shared '{}' -o '{}' > '{}' 2>&1", headers, flags, text.string(), library.string(), log.string());
  if (std::system(command.c_str()) != 0) return fail(fault::bug, first_lines(log, 12));
  return built[key] = library;
}

std::string nvcc_path() {
  if (const char* chosen = std::getenv("KERNSMITH_NVCC")) return chosen;
  for (const char* usual : {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"})
    if (std::filesystem::exists(usual)) return usual;
  return "";
}

std::string compile_with_nvcc(const std::string& source, const std::string& architecture) {
  const std::string key = content_hash(source);
  const std::filesystem::path text = scratch() / (key + ".cu"), log = scratch() / (key + ".nvcc.log");
  std::ofstream(text) << source;
  const std::string command = fmt::format("'{}' -cubin -O3 -std=c++17 -arch={} -I'{}/backends/harness' '{}' -o '{}.cubin' > '{}' 2>&1",
                                          nvcc_path(), architecture, KERNSMITH_SOURCE_DIR, text.string(), text.string(), log.string());
  return std::system(command.c_str()) == 0 ? "" : first_lines(log, 12);
}

std::string hipcc_path() {
  if (const char* chosen = std::getenv("KERNSMITH_HIPCC")) return chosen;
  for (const char* usual : {"/usr/bin/hipcc", "/opt/rocm/bin/hipcc"})
    if (std::filesystem::exists(usual)) return usual;
  return "";
}

std::string compile_with_hipcc(const std::string& source) {
  const std::string key = content_hash(source);
  const std::filesystem::path text = scratch() / (key + ".hip"), log = scratch() / (key + ".hipcc.log");
  std::ofstream(text) << source;
  const std::string command = fmt::format(
      "HIP_PLATFORM=amd '{}' -x hip -O3 -std=c++17 -fPIC -shared --offload-arch=gfx90a -I'{}/backends/harness' '{}' -o '{}.so' > '{}' 2>&1",
      hipcc_path(), KERNSMITH_SOURCE_DIR, text.string(), text.string(), log.string());
  return std::system(command.c_str()) == 0 ? "" : first_lines(log, 12);
}

std::string compile_hip_with_nvcc(const std::string& source) {
  const std::string key = content_hash(source);
  const std::filesystem::path text = scratch() / (key + ".hip.cu"), log = scratch() / (key + ".hip.nvcc.log");
  std::ofstream(text) << source;
  const std::string command = fmt::format(
      "'{0}' -cubin -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -D__HIP_PLATFORM_NVIDIA__ -include "
      "'{1}/backends/hip/nvidia_bridge.h' "
      "-I'{1}/backends/harness' '{2}' -o '{2}.cubin' > '{3}' 2>&1",
      nvcc_path(), KERNSMITH_SOURCE_DIR, text.string(), log.string());
  return std::system(command.c_str()) == 0 ? "" : first_lines(log, 12);
}

void check_emulated(const problem& p, const std::vector<std::vector<std::int64_t>>& shapes, int random_count, const run_options& options,
                    const emulated_device& device) {
  const std::unique_ptr<generator> g = device.language == simt::dialect::hip ? hip_generator(p) : cuda_generator(p, device.architecture);
  for (int n = 0; n <= random_count; ++n) {
    const assignment chosen =
        n == 0 ? preferred_assignment(g->space()) : random_assignment(*g, options.seed * 1000 + static_cast<std::uint64_t>(n));
    const result<proposal> made = g->generate(chosen);
    REQUIRE(made.has_value());
    const std::string decisions = describe(g->space(), made->decisions);
    CAPTURE(decisions);
    if (made->source.find("wgmma") != std::string::npos) continue;
    const result<std::filesystem::path> library = compile_emulated(made->source, device);
    if (!library) {
      FAIL_CHECK("does not compile:\n" << library.error().message);
      continue;
    }
    for (const std::vector<std::int64_t>& axes : shapes) {
      const std::string wrong = check_kernel(p, *library, axes, options);
      const std::string shape = fmt::format("{}", fmt::join(axes, " "));
      CAPTURE(shape);
      CHECK(wrong == "");
    }
  }
}

}  // namespace kernsmith::agents::testing
