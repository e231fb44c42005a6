#include "config/suite_sizes.hpp"

#include <doctest/doctest.h>

#include "folder.hpp"

using namespace kernsmith;

namespace {

std::string refusal_of(const std::string& text, const std::string& which = "gpu") {
  const test::folder here;
  here.write("sizes.toml", text);
  const auto sizes = load_suite_sizes(here.path() / "sizes.toml", which);
  REQUIRE_FALSE(sizes);
  CHECK(sizes.error().kind == fault::bad_request);
  return sizes.error().message.substr(here.path().string().size() + 1);
}

}  // namespace

TEST_CASE("sizes of one kind are read in the order of the file") {
  const test::folder here;
  here.write("sizes.toml", "[a.gpu]\nZ = 8\nA = 4\n[a.tiny]\nZ = 1\n[b.tiny]\nN = 2\n");
  const auto gpu = load_suite_sizes(here.path() / "sizes.toml", "gpu");
  REQUIRE(gpu);
  CHECK(*gpu == std::map<std::string, suite_axes>{{"a", {{"Z", 8}, {"A", 4}}}});
  const auto tiny = load_suite_sizes(here.path() / "sizes.toml", "tiny");
  REQUIRE(tiny);
  CHECK(tiny->size() == 2);
}

TEST_CASE("sizes that can't be meant are refused where they stand") {
  CHECK(refusal_of("[a.gpu]\nN = 0\n") == "sizes.toml:2:5: N of [a.gpu] is 0; sizes are at least 1");
  CHECK(refusal_of("[a.gpu]\nN = 'x'\n").find("sizes.toml:2:5: ") == 0);
  CHECK(refusal_of("[a]\ngpu = 4\n").find("sizes.toml:2:") == 0);
  CHECK(refusal_of("[a.gpu]\nN = 1\n", "gpus") == "sizes.toml: there are no sizes called 'gpus'; did you mean 'gpu'?; there are: gpu");
}

TEST_CASE("sizes that aren't there") {
  const test::folder here;
  const auto sizes = load_suite_sizes(here.path() / "sizes.toml", "gpu");
  REQUIRE_FALSE(sizes);
  CHECK(sizes.error().message.find("can't be read") != std::string::npos);
}

TEST_CASE("the suite's own sizes are well-formed") {
  const auto sizes = load_suite_sizes(std::string(KERNSMITH_SOURCE_DIR) + "/tests/problems/sizes.toml", "gpu");
  REQUIRE(sizes);
  CHECK(sizes->size() >= 60);
}
