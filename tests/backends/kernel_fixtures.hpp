// Tiny kernels in strings, and what is needed to build and run them.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/cpp/toolchain.hpp"
#include "backends/harness/runner_client.hpp"
#include "backends/harness/shared_buffer.hpp"

namespace kernsmith::fixtures {

/// A folder of the test's own, gone with it.
class temporary_folder {
 public:
  temporary_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kernsmith-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder: " + pattern);
    path_ = pattern;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// A whole kernel around the body of `launch`, with x = in[0], y = out[0] (float) and n = their length; `before` stands at file scope.
inline std::string kernel_source(const std::string& body, const std::string& before = "") {
  return "#include \"kernsmith_kernel.h\"\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n" + before +
         "\nextern \"C\" int launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* ctx) {\n"
         "  const float* x = static_cast<const float*>(in[0].data);\n"
         "  float* y = static_cast<float*>(out[0].data);\n"
         "  const long n = in[0].shape[0];\n"
         "  (void)n_in; (void)n_out; (void)ctx; (void)x; (void)y; (void)n;\n" +
         body + "\n}\n";
}

inline const std::string doubling_body = "  for (long i = 0; i < n; ++i) y[i] = 2 * x[i];\n  return 0;";

template <class T>
T value_of(result<T> made) {
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

/// One toolchain for the whole test program, with a cache of its own.
inline const cpp::toolchain& shared_toolchain() {
  static const temporary_folder cache;
  static const cpp::toolchain compiler = value_of(cpp::toolchain::discover(cache.path()));
  return compiler;
}

inline std::filesystem::path built(const std::string& source) {
  const cpp::built_kernel kernel = value_of(shared_toolchain().build(source));
  if (!kernel.outcome.empty()) throw std::runtime_error(kernel.outcome + ": " + kernel.log);
  return kernel.library;
}

/// A CPU that this process may use; tests run beside others, so one is enough.
inline std::vector<int> allowed_cores(int wanted) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE && static_cast<int>(cores.size()) < wanted; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

inline harness::runner_options options_for(const std::filesystem::path& library, double load_timeout_s = 20) {
  harness::runner_options options;
  options.library = library;
  options.cores = allowed_cores(1);
  options.load_timeout_s = load_timeout_s;
  return options;
}

/// One runner with one set: x of n floats (0, 1, 2, ...) and y of n floats, all -1.
struct one_kernel {
  harness::shared_buffer x, y;
  std::unique_ptr<harness::runner_client> client;
  int set = -1;

  explicit one_kernel(const std::string& source, long n = 1000, harness::guard_side side = harness::guard_side::after,
                      harness::runner_options options = {})
      : x(value_of(harness::shared_buffer::create("x", static_cast<std::size_t>(n) * 4, side))),
        y(value_of(harness::shared_buffer::create("y", static_cast<std::size_t>(n) * 4, side))) {
    for (long i = 0; i < n; ++i) {
      floats(x)[i] = static_cast<float>(i);
      floats(y)[i] = -1;
    }
    options.library = built(source);
    if (options.cores.empty()) options.cores = allowed_cores(1);
    client = value_of(harness::runner_client::start(options));
    harness::buffer_set tensors;
    tensors.inputs = {{&x, dtype::f32, {n}, false}};
    tensors.outputs = {{&y, dtype::f32, {n}, true}};
    tensors.axes = {n};
    set = value_of(client->add_set(tensors));
  }

  static float* floats(const harness::shared_buffer& buffer) { return reinterpret_cast<float*>(buffer.data()); }
  [[nodiscard]] harness::call_result call(double timeout_s = 20) const { return client->call({set}, timeout_s); }
  [[nodiscard]] bool doubled() const {
    for (std::size_t i = 0; i < x.bytes() / 4; ++i) {
      if (floats(y)[i] != 2 * floats(x)[i]) return false;
    }
    return true;
  }
};

}  // namespace kernsmith::fixtures
