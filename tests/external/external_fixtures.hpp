// Shared by the suites of external targets: problems, kernels, targets, and whether this machine has what a target needs.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "backends/external/evaluator.hpp"
#include "config/external_target.hpp"
#include "config/problem.hpp"

namespace kernsmith::fixtures {

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <class T>
T value_of(result<T> r) {
  INFO((r ? "" : r.error().message));
  REQUIRE(r);
  return std::move(*r);
}

struct scratch_folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("kernsmith-external-" + std::to_string(::getpid()));
  scratch_folder() { std::filesystem::create_directories(path); }
  ~scratch_folder() { std::filesystem::remove_all(path); }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
};

inline const scratch_folder& scratch() {
  static const scratch_folder folder;
  return folder;
}

inline bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " > /dev/null 2>&1").c_str()) == 0;
}

/// The emulated core and its tools; scripts/setup --with external installs them.
inline bool has_riscv() {
  return has_program("qemu-system-riscv64") && has_program("clang-15") && has_program("riscv64-unknown-elf-gcc") &&
         std::filesystem::exists("/usr/lib/picolibc/riscv64-unknown-elf/include/math.h");
}

inline const std::filesystem::path source_folder = KERNSMITH_SOURCE_DIR;
inline const std::filesystem::path riscv_file = source_folder / "docs/examples/external/riscv-vector/target.toml";
inline const std::filesystem::path host_file = source_folder / "tests/external/host_target/target.toml";

inline harness::evaluator_options quick_options() {
  harness::evaluator_options options;
  options.cache = scratch().path / "cache";
  return options;
}

/// y = 2 x + the row's first element.
inline const std::string affine_text =
    "name = \"affine\"\n[axes]\nB = 6\nN = 100\n[inputs.x]\nshape = [\"B\", \"N\"]\ndtype = \"f32\"\n[outputs.y]\nshape = [\"B\", "
    "\"N\"]\ndtype = \"f32\"\n[definition]\ntext = \"y[b,n] = 2 * x[b,n] + x[b,0]\"\n";

inline problem affine() {
  return value_of(parse_problem(affine_text, "/nowhere/affine.toml"));
}

/// A C kernel for affine().
inline std::string kernel(const std::string& body, const std::string& before = "") {
  return "#include \"kernsmith_kernel.h\"\n" + before +
         "\nint launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* ctx) {\n"
         "  const float* x = in[0].data; float* y = out[0].data; const int64_t B = ctx->axes[0], N = ctx->axes[1];\n"
         "  (void)n_in, (void)n_out, (void)x, (void)y, (void)B, (void)N;\n" +
         body + "\n  return 0;\n}\n";
}

inline const std::string honest_body =
    "  for (int64_t b = 0; b < B; ++b) for (int64_t n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];";

inline memory::evaluation evaluated(harness::evaluator& evaluator, const std::string& source, harness::effort how) {
  const auto built = value_of(evaluator.build(source));
  return value_of(evaluator.evaluate(built, how));
}

}  // namespace kernsmith::fixtures
