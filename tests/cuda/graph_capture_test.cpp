// The runner records a launch and replays it, over a driver that has no device: what is recorded, what spoils a recording, and what a
// driver's failures are called.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/backends/kernel_fixtures.hpp"

using namespace kernsmith;
using fixtures::one_kernel;
using harness::call_status;

namespace {

const std::filesystem::path fake_driver = KERNSMITH_FAKE_CUDA;

/// What kernels for the fake device are made of: the driver's calls, found as CUDA's run-time library finds them.
const std::string driver_calls = R"(
#include <dlfcn.h>
using address = unsigned long;
template <class F> static F found(const char* name) { return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name)); }
static int copy(void* to, const void* from, long bytes, void* stream) {
  static const auto call = found<int (*)(address, address, unsigned long, void*)>("cuMemcpyDtoDAsync_v2");
  return call(reinterpret_cast<address>(to), reinterpret_cast<address>(from), static_cast<unsigned long>(bytes), stream);
}
static int take(address* room, long bytes) {
  static const auto call = found<int (*)(address*, unsigned long)>("cuMemAlloc_v2");
  return call(room, static_cast<unsigned long>(bytes));
}
static int wait() {
  static const auto call = found<int (*)()>("cuCtxSynchronize");
  return call();
}
)";

one_kernel on_fake_device(const std::string& body, const std::string& failing = "") {
  harness::runner_options options;
  options.accelerator.driver = fake_driver;
  options.readable = {fake_driver.parent_path()};
  options.environment = {{"FAKE_CUDA_FAIL", failing}};
  return one_kernel(fixtures::kernel_source(body, driver_calls), 1000, harness::guard_side::after, options);
}

bool copied(const one_kernel& kernel) {
  return std::equal(kernel.x.data(), kernel.x.data() + kernel.x.bytes(), kernel.y.data());
}

const std::string copying_body = "  return copy(y, x, n * 4, ctx->stream);";

}  // namespace

TEST_CASE("a replay does what was recorded, on what the buffers hold then") {
  const one_kernel kernel = on_fake_device(copying_body);
  const auto captured = kernel.client->capture(kernel.set, 20);
  CHECK(captured.detail == "");
  REQUIRE(captured.status == call_status::ok);
  CHECK(one_kernel::floats(kernel.y)[7] == -1);  // nothing is done yet
  for (const float content : {3.0F, 5.0F}) {
    one_kernel::floats(kernel.x)[7] = content;
    const auto replayed = kernel.client->replay({kernel.set}, 20);
    REQUIRE(replayed.status == call_status::ok);
    REQUIRE(replayed.inside_ns.size() == 1);
    CHECK(copied(kernel));
  }
  CHECK(kernel.client->replay({kernel.set, kernel.set, kernel.set}, 20).inside_ns.size() == 3);
}

TEST_CASE("an answer that was made at capture is not made again") {
  const one_kernel kernel = on_fake_device("  for (long i = 0; i < n; ++i) y[i] = x[i];\n  return 0;");
  REQUIRE(kernel.client->capture(kernel.set, 20).status == call_status::ok);
  CHECK(copied(kernel));
  one_kernel::floats(kernel.x)[7] = 3;
  one_kernel::floats(kernel.y)[7] = -1;
  CHECK(kernel.client->replay({kernel.set}, 20).status == call_status::ok);
  CHECK(one_kernel::floats(kernel.y)[7] == -1);  // "unwritten", as whoever poisoned it will see
}

TEST_CASE("what a stream can't record is refused with the reason, and the runner lives on") {
  for (const std::string& body : std::vector<std::string>{"  address room = 0;\n  (void)take(&room, 64);\n" + copying_body,
                                                          "  (void)copy(y, x, n * 4, ctx->stream);\n  (void)wait();\n  return 0;",
                                                          "  return copy(y, x, n * 4, ctx->stream) + wait();"}) {
    CAPTURE(body);
    const one_kernel kernel = on_fake_device(body);
    const auto captured = kernel.client->capture(kernel.set, 20);
    CHECK(captured.status == call_status::refused);
    CHECK(captured.detail.find("can't be captured into a graph (CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901)") != std::string::npos);
    CHECK(kernel.client->alive());
    CHECK(kernel.call().status == call_status::ok);
    CHECK(copied(kernel));
  }
}

TEST_CASE("a launch that refuses its capture is told by its code") {
  const one_kernel kernel = on_fake_device("  return 7;");
  const auto captured = kernel.client->capture(kernel.set, 20);
  CHECK(captured.status == call_status::refused);
  CHECK(captured.detail == "launch returned 7");
}

TEST_CASE("a set is captured anew after the sets were dropped") {
  const one_kernel kernel = on_fake_device(copying_body);
  REQUIRE(kernel.client->capture(kernel.set, 20).status == call_status::ok);
  REQUIRE(kernel.client->drop_sets().has_value());
  const int again = fixtures::value_of(kernel.client->add_set(
      {.inputs = {{&kernel.x, dtype::f32, {1000}, false}}, .outputs = {{&kernel.y, dtype::f32, {1000}, true}}, .axes = {}}));
  CHECK(kernel.client->replay({again}, 20).status != call_status::ok);  // of what was there before
}

TEST_CASE("on the host there is nothing to capture") {
  const one_kernel kernel(fixtures::kernel_source(fixtures::doubling_body));
  const auto captured = kernel.client->capture(kernel.set, 20);
  CHECK(captured.status == call_status::refused);
  CHECK(captured.detail.find("there is no stream here") != std::string::npos);
}

TEST_CASE("a device that can't be had, or has no memory left, before there is a kernel: nobody's verdict") {
  for (const char* failing : {"cuDevicePrimaryCtxRetain 46 0", "cuInit 100 0", "cuMemAlloc_v2 2 0"}) {
    CAPTURE(failing);
    harness::runner_options options;
    options.library = fixtures::built(fixtures::kernel_source(copying_body, driver_calls));
    options.cores = fixtures::allowed_cores(1);
    options.accelerator.driver = fake_driver;
    options.readable = {fake_driver.parent_path()};
    options.environment = {{"FAKE_CUDA_FAIL", failing}};
    const auto started = harness::runner_client::start(options);
    REQUIRE_FALSE(started.has_value());
    CHECK(started.error().kind == fault::infrastructure);
    CHECK(started.error().message.find("CUDA_ERROR_") != std::string::npos);
  }
}

TEST_CASE("a device that vanishes under a kernel is lost; a kernel that breaks its context is not") {
  // The first batch is the client's own first look.
  const one_kernel gone = on_fake_device(copying_body, "cuCtxSynchronize 46 2");
  call_status last = call_status::ok;
  for (int call = 0; call < 4 && last == call_status::ok; ++call) last = gone.call().status;
  CHECK(last == call_status::lost);
  const one_kernel broken = on_fake_device(copying_body, "cuCtxSynchronize 719 0");
  CHECK(broken.call().status == call_status::crashed);
}

TEST_CASE("device memory that runs out in a kernel's own call is the kernel's") {
  // The runner's own: what an empty batch touches, and the workspace.
  const one_kernel kernel = on_fake_device("  address room = 0;\n  return take(&room, 64);", "cuMemAlloc_v2 2 2");
  const auto called = kernel.call();
  CHECK(called.status == call_status::refused);
  CHECK(called.detail == "launch returned 2");
}
