// What --target hip says where it can't be measured: in one sentence what is missing, and what to do instead.
#include <doctest/doctest.h>

#include <cstdlib>

#include "backends/cuda/device.hpp"
#include "backends/hip/evaluator.hpp"
#include "backends/hip/toolchain.hpp"

namespace kernsmith::hip {
namespace {

TEST_CASE("an AMD architecture as a target") {
  const auto refused = resolve_target("hip/gfx90a");
  REQUIRE(!refused.has_value());
  CHECK(refused.error().kind == fault::missing_here);
  CHECK(refused.error().message.find("hip/gfx90a") != std::string::npos);
  CHECK(refused.error().message.find("KERNSMITH_HIP_ALSO=gfx90a") != std::string::npos);
}

TEST_CASE("target hip by its short name") {
  const auto device = cuda::describe_device();
  const auto found = resolve_target("hip");
  if (!device) {
    REQUIRE(!found.has_value());
    CHECK(found.error().kind == fault::missing_here);
    CHECK(found.error().message.find(device.error().message) != std::string::npos);
    return;
  }
  if (!find_headers()) {
    CHECK(found.error().kind == fault::missing_here);
    return;
  }
  CHECK(found.value() == "hip/" + device->architecture);
  const auto other = resolve_target("hip/sm_10");
  REQUIRE(!other.has_value());
  CHECK(other.error().kind == fault::bad_request);
}

TEST_CASE("headers that are named and are not there") {
  ::setenv("KERNSMITH_HIP_HEADERS", "/nonexistent", 1);
  const auto found = find_headers();
  ::unsetenv("KERNSMITH_HIP_HEADERS");
  REQUIRE(!found.has_value());
  CHECK(found.error().kind == fault::missing_here);
  CHECK(found.error().message.find("/nonexistent") != std::string::npos);
  CHECK(found.error().message.find("KERNSMITH_HIP_HEADERS") != std::string::npos);
}

TEST_CASE("a compiler that is named and is not there") {
  ::setenv("KERNSMITH_HIPCC", "/nonexistent/hipcc", 1);
  const auto found = toolchain::discover("/tmp", "gfx90a");
  ::unsetenv("KERNSMITH_HIPCC");
  REQUIRE(!found.has_value());
  CHECK(found.error().kind == fault::missing_here);
  CHECK(found.error().message.find("--with hip") != std::string::npos);
}

}  // namespace
}  // namespace kernsmith::hip
