// The generated reference and baseline of definitions that ship, built for a device. No device is needed, nvcc is.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <optional>

#include "backends/cuda/cublas_source.hpp"
#include "backends/cuda/reference_source.hpp"
#include "backends/cuda/toolchain.hpp"
#include "backends/cuda/trusted_kernels.hpp"
#include "config/problem.hpp"

using namespace kernsmith;
namespace fs = std::filesystem;

namespace {

constexpr const char* architecture = "sm_90a";
constexpr double timeout_s = 170;

/// nullopt, with a visible word, where there is no nvcc.
std::optional<cuda::toolchain> compiler() {
  auto found = cuda::toolchain::discover(fs::path(KERNSMITH_BINARY_DIR) / "cuda-test-cache", architecture);
  if (found) return std::move(*found);
  MESSAGE("skipped: " << found.error().message);
  return std::nullopt;
}

/// One of each kind: elementwise chains, contractions, scans, gathers, arguments, rounding to narrow types.
constexpr const char* examples[] = {"softmax",        "matmul",           "cumsum",        "bucketise",
                                    "group_quantise", "conv2d_bias_relu", "embedding_bag", "max_pool"};

}  // namespace

TEST_CASE("reference and baseline of definitions of each kind build for the device") {
  const auto nvcc = compiler();
  if (!nvcc) return;
  int built = 0;
  for (const char* example : examples) {
    CAPTURE(example);
    const auto p = load_problem(fs::path(KERNSMITH_SOURCE_DIR) / "docs/examples" / (std::string(example) + ".toml"));
    REQUIRE_MESSAGE(p.has_value(), (p ? "" : p.error().message));
    for (const auto& source : {cuda::reference_source(*p), cuda::naive_source(*p)}) {
      REQUIRE(source.has_value());
      const auto kernel = nvcc->build(*source, cuda::generated_flags(), {}, timeout_s);
      REQUIRE(kernel.has_value());
      INFO(kernel->log);
      INFO(*source);
      CHECK(kernel->outcome == "");
      ++built;
    }
  }
  CHECK(built == 2 * static_cast<int>(std::size(examples)));
}

TEST_CASE("every dtype can be read, rounded to and written") {
  const auto nvcc = compiler();
  if (!nvcc) return;
  std::string inputs, outputs, definition;
  for (const std::string_view type : dtype_names()) {
    inputs += fmt::format("[inputs.x_{0}]\nshape = [\"N\"]\ndtype = \"{0}\"\n", type);
    outputs += fmt::format("[outputs.y_{0}]\nshape = [\"N\"]\ndtype = \"{0}\"\n", type);
    definition += fmt::format("y_{0}[n] = {0}(x_{0}[n])\n", type);
  }
  const auto p = parse_problem(
      fmt::format("name = \"all\"\n[axes]\nN = 64\n{}{}[definition]\ntext = \"\"\"\n{}\"\"\"\n", inputs, outputs, definition), "all.toml");
  REQUIRE_MESSAGE(p.has_value(), (p ? "" : p.error().message));
  for (const auto& source : {cuda::reference_source(*p), cuda::naive_source(*p)}) {
    REQUIRE(source.has_value());
    const auto kernel = nvcc->build(*source, cuda::generated_flags(), {}, timeout_s);
    REQUIRE(kernel.has_value());
    INFO(kernel->log);
    CHECK(kernel->outcome == "");
  }
}

TEST_CASE("the verifier's device code builds") {
  const auto nvcc = compiler();
  if (!nvcc) return;
  const auto cubin = nvcc->build_device_code(cuda::trusted_kernels_text(), timeout_s);
  REQUIRE(cubin.has_value());
  INFO(cubin->log);
  CHECK(cubin->outcome == "");
}

TEST_CASE("machine code is the same for other comments and line numbers, and another for other arithmetic") {
  const auto nvcc = compiler();
  if (!nvcc) return;
  const auto source = [](const char* before, const char* factor) {
    return std::string(before) +
           "#include \"kernsmith_kernel.h\"\n"
           "__global__ void scale(const float* x, float* y) { y[threadIdx.x] = " +
           factor +
           " * x[threadIdx.x]; }\n"
           "extern \"C\" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {\n"
           "  scale<<<1, 32>>>(static_cast<const float*>(in[0].data), static_cast<float*>(out[0].data));\n  return 0;\n}\n";
  };
  const auto code_of = [&](const std::string& text) {
    const auto kernel = nvcc->build(text, {}, {}, timeout_s);
    REQUIRE(kernel.has_value());
    REQUIRE_MESSAGE(kernel->outcome == "", kernel->log);
    return kernel->machine_code;
  };
  const std::string plain = code_of(source("", "2.0f"));
  CHECK(plain == code_of(source("// another comment\n\n", "2.0f")));
  CHECK(plain != code_of(source("", "3.0f")));
}

TEST_CASE("what is no kernel is told with the compiler's words") {
  const auto nvcc = compiler();
  if (!nvcc) return;
  const auto wrong = nvcc->build("__global__ void k( {}\n", {}, {}, timeout_s);
  REQUIRE(wrong.has_value());
  CHECK(wrong->outcome == "build_failed");
  CHECK(wrong->detail.find("error") != std::string::npos);
  const auto nameless = nvcc->build("__global__ void k() {}\n", {}, {}, timeout_s);
  REQUIRE(nameless.has_value());
  CHECK(nameless->outcome == "build_failed");
  CHECK(nameless->detail.find("launch") != std::string::npos);
}

TEST_CASE("cuBLAS serves a plain product and refuses others") {
  const auto parse = [](const std::string& definition) {
    const std::string text =
        "name = \"p\"\n[axes]\nM = 8\nN = 16\nK = 32\n[inputs.a]\nshape = [\"M\", \"K\"]\ndtype = \"f32\"\n[inputs.b]\nshape = [\"K\", "
        "\"N\"]\n"
        "dtype = \"f32\"\n[outputs.c]\nshape = [\"M\", \"N\"]\ndtype = \"f32\"\n[definition]\ntext = \"" +
        definition + "\"\n";
    auto p = parse_problem(text, "p.toml");
    REQUIRE_MESSAGE(p.has_value(), (p ? "" : p.error().message));
    return *p;
  };
  const auto product = cuda::cublas_source(parse("c[m,n] = sum(k: a[m,k] * b[k,n])"));
  REQUIRE(product.has_value());
  CHECK(product->find("cublasGemmStridedBatchedEx") != std::string::npos);
  if (const auto nvcc = compiler(); nvcc) {
    const auto kernel = nvcc->build(*product, {}, {"-lcublas"}, timeout_s);
    REQUIRE(kernel.has_value());
    if (kernel->log.find("cannot find -lcublas") != std::string::npos) {
      MESSAGE("not built: cuBLAS is not here");
    } else {
      INFO(kernel->log);
      CHECK(kernel->outcome == "");
    }
  }
  const auto other = cuda::cublas_source(parse("c[m,n] = sum(k: a[m,k] + b[k,n])"));
  REQUIRE(!other.has_value());
  CHECK(other.error().kind == fault::bad_request);
}
