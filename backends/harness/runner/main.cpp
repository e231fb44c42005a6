// kernsmith-runner: hosts one candidate inside the sandbox. Loads its library, maps the verifier's buffers, calls `launch` when told.
//
//     kernsmith-runner LIBRARY THREADS WORKSPACE_BYTES                    on the host
//     kernsmith-runner LIBRARY THREADS WORKSPACE_BYTES DRIVER ORDINAL     on a CUDA device
//                      LIBRARY may be "-": the verifier names it later
//     kernsmith-runner probe NAME [ARGUMENT...]          what the sandbox's self-test runs
//     kernsmith-runner opencl [SOURCE]                   compiles OpenCL programs (opencl_build.hpp)
//     kernsmith-runner profile MANIFEST REPORT           what profilers are wrapped around (profile_driver.hpp)
//
// The candidate's code runs in this process and can rewrite anything in it. Nothing here is trusted: what a call cost is read from the
// verifier's clock, whether it was right from the verifier's buffers. Limits, affinity and the OpenMP variables were set before this
// program began, so they stand when the library (and libgomp with it) loads. Kernels that an interpreter hosts: hosted.cpp.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "backends/harness/runner/channel.hpp"
#include "backends/harness/runner/opencl_build.hpp"
#include "backends/harness/runner/probe.hpp"
#include "backends/harness/runner/profile_driver.hpp"
#include "backends/harness/runner/serve.hpp"

namespace kernsmith::runner {

namespace {

launch_function load(const char* library, const ks_launch&) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) give_up(wire::answer_kind::load_failed, ::dlerror());
  void* const symbol = ::dlsym(handle, "launch");
  if (symbol == nullptr) {
    give_up(wire::answer_kind::load_failed,
            "the library has no function `launch` with C linkage: extern \"C\" int launch(const ks_tensor* in, int n_in, ks_tensor* out, "
            "int n_out, ks_launch* ctx)");
  }
  return reinterpret_cast<launch_function>(symbol);
}

}  // namespace

}  // namespace kernsmith::runner

int main(int argc, char** argv) {
  using namespace kernsmith::runner;
  if (argc > 2 && std::strcmp(argv[1], "probe") == 0) return run_probe(argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "opencl") == 0) return run_opencl_build(argc, argv);
  if (argc > 2 && std::strcmp(argv[1], "profile") == 0) return run_profile(argc, argv);
  runner_arguments given{};
  if (!read_arguments(argc, argv, given)) {
    std::fputs("kernsmith-runner hosts a compiled kernel for kernsmith, which starts it; it is of no use by itself\n", stderr);
    return 2;
  }
  serve(given, {load, nullptr});
}
