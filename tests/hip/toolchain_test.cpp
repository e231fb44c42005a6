// Building HIP sources: for gfx90a with hipcc, whose code objects tell registers and memory, and for sm_90a with nvcc through HIP's NVIDIA
// headers. What is not here is skipped, visibly.
#include "backends/hip/toolchain.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "backends/cuda/toolchain.hpp"
#include "backends/hip/candidate.hpp"
#include "backends/hip/code_object.hpp"

namespace kernsmith::hip {
namespace {

constexpr double build_timeout_s = 120;

class scratch_folder {
 public:
  scratch_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kernsmith-hip-XXXXXX").string();
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

const std::filesystem::path& cache() {
  static const scratch_folder folder;
  return folder.path();
}

std::string fixture(const std::string& name) {
  std::ifstream in(std::filesystem::path(KERNSMITH_SOURCE_DIR) / "tests/hip/fixtures" / name, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Null, with a message, where it is missing.
const toolchain* hipcc() {
  static const result<toolchain> found = toolchain::discover(cache(), "gfx90a");
  if (found) return &*found;
  REQUIRE(found.error().kind == fault::missing_here);
  MESSAGE("skipped: " << found.error().message);
  return nullptr;
}

TEST_CASE("a kernel for gfx90a and what it takes") {
  const toolchain* compiler = hipcc();
  if (compiler == nullptr) return;
  const auto built = compiler->build(fixture("row_sum.hip"), build_timeout_s);
  REQUIRE(built.has_value());
  CAPTURE(built->log);
  REQUIRE(built->outcome == "");
  CHECK(!built->machine_code.empty());
  const auto kernels = parse_report("gfx90a", built->log);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].name.find("row_sum_kernel") != std::string::npos);
  CHECK(kernels[0].wave_size == 64);
  CHECK(kernels[0].most_threads == 256);
  CHECK(kernels[0].lds_bytes == 256 * 4);
  CHECK(kernels[0].scratch_bytes == 0);
  CHECK(kernels[0].vgprs > 0);
  CHECK(kernels[0].vgprs <= 64);
  const auto again = compiler->build(fixture("row_sum.hip"), build_timeout_s);
  REQUIRE(again.has_value());
  CHECK(again->from_cache);
  CHECK(again->machine_code == built->machine_code);
}

TEST_CASE("sources that can't become candidates for gfx90a") {
  const toolchain* compiler = hipcc();
  if (compiler == nullptr) return;
  const std::string head = "#include \"kernsmith_kernel.h\"\n#include <hip/hip_runtime.h>\n";
  const std::string launch = "extern \"C\" int launch(const ks_tensor*, int, ks_tensor* out, int, ks_launch* ctx) {\n";
  SUBCASE("an error in the source") {
    const auto built = compiler->build(head + launch + "  return undeclared;\n}\n", build_timeout_s);
    REQUIRE(built.has_value());
    CHECK(built->outcome == "build_failed");
    CHECK(built->detail.find("undeclared") != std::string::npos);
    CHECK(built->detail.find("/build") == std::string::npos);
  }
  SUBCASE("no launch function") {
    const auto built = compiler->build(head + "__global__ void k() {}\nvoid start() { k<<<1, 1>>>(); }\n", build_timeout_s);
    REQUIRE(built.has_value());
    CHECK(built->outcome == "build_failed");
    CHECK(built->detail.find("launch") != std::string::npos);
  }
  SUBCASE("more LDS than a work-group has") {
    const auto built = compiler->build(head +
                                           "__global__ void k(float* y) {\n  __shared__ float lds[17000];\n"
                                           "  for (int i = threadIdx.x; i < 17000; i += 64) lds[i] = y[i];\n  __syncthreads();\n"
                                           "  y[threadIdx.x] = lds[16999 - threadIdx.x];\n}\n" +
                                           launch +
                                           "  k<<<1, 64, 0, static_cast<hipStream_t>(ctx->stream)>>>(static_cast<float*>(out[0].data));\n"
                                           "  return int(hipGetLastError());\n}\n",
                                       build_timeout_s);
    REQUIRE(built.has_value());
    CHECK((built->outcome == "build_failed" || built->outcome == "resource_limit"));
    CAPTURE(built->detail);
    CHECK(built->detail.find("65536") != std::string::npos);
  }
  SUBCASE("a source without kernels is only a host program") {
    const auto built = compiler->build(
        head + launch + "  return int(hipMemsetAsync(out[0].data, 0, 4, static_cast<hipStream_t>(ctx->stream)));\n}\n", build_timeout_s);
    REQUIRE(built.has_value());
    CAPTURE(built->detail);
    CHECK(built->outcome == "");
    CHECK(parse_report("gfx90a", built->log).empty());
  }
}

TEST_CASE("an architecture that the compiler doesn't know") {
  if (hipcc() == nullptr) return;
  const auto found = toolchain::discover(cache(), "gfx9999");
  REQUIRE(!found.has_value());
  CHECK(found.error().kind == fault::missing_here);
  CHECK(found.error().message.find("gfx9999") != std::string::npos);
}

TEST_CASE("the same source through HIP's NVIDIA headers") {
  const auto language = hip_candidates::open(cache());
  if (!language) {
    MESSAGE("skipped: " << language.error().message);
    return;
  }
  const auto nvcc = cuda::toolchain::discover(cache(), "sm_90a", (*language)->compiled_with());
  if (!nvcc) {
    MESSAGE("skipped: " << nvcc.error().message);
    return;
  }
  const std::string source = fixture("row_sum.hip");
  auto built = nvcc->build_candidate(source, build_timeout_s);
  REQUIRE(built.has_value());
  CAPTURE(built->log);
  REQUIRE(built->outcome == "");
  REQUIRE((*language)->complete(source, *built, build_timeout_s).has_value());
  REQUIRE(built->outcome == "");
  const auto signals = (*language)->signals(*built);
  if ((*language)->also().empty()) {
    CHECK(signals.empty());
  } else {
    CHECK(signals.at("gfx90a_lds_bytes") == 256 * 4);
    CHECK(signals.at("gfx90a_waves_by_registers") == 8);
  }
  SUBCASE("what only NVIDIA's compiler takes is refused where AMD's is here") {
    const std::string bound =
        source + "\n__global__ void nvidia_only(unsigned* y) { asm volatile(\"mov.u32 %0, %%laneid;\" : \"=r\"(*y)); }\n";
    auto one_sided = nvcc->build_candidate(bound, build_timeout_s);
    REQUIRE(one_sided.has_value());
    REQUIRE(one_sided->outcome == "");
    REQUIRE((*language)->complete(bound, *one_sided, build_timeout_s).has_value());
    if (!(*language)->also().empty()) {
      CHECK(one_sided->outcome == "build_failed");
      CHECK(one_sided->detail.starts_with("for gfx90a: "));
    }
  }
}

TEST_CASE("which AMD architectures candidates are built for") {
  ::setenv("KERNSMITH_HIP_ALSO", "gfx90a,gfx1030", 1);
  auto wanted = read_also_setting();
  REQUIRE(wanted.has_value());
  CHECK(wanted->architectures == std::vector<std::string>{"gfx90a", "gfx1030"});
  CHECK(wanted->required);
  ::setenv("KERNSMITH_HIP_ALSO", "none", 1);
  CHECK(read_also_setting()->architectures.empty());
  ::setenv("KERNSMITH_HIP_ALSO", "mi250", 1);
  wanted = read_also_setting();
  REQUIRE(!wanted.has_value());
  CHECK(wanted.error().kind == fault::bad_request);
  CHECK(wanted.error().message.find("mi250") != std::string::npos);
  ::unsetenv("KERNSMITH_HIP_ALSO");
  wanted = read_also_setting();
  REQUIRE(wanted.has_value());
  CHECK(!wanted->required);
}

}  // namespace
}  // namespace kernsmith::hip
