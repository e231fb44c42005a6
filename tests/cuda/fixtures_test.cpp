// The fixtures of the adversarial suite are complete and listed, on machines without a device too.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

}  // namespace

TEST_CASE("every CUDA fixture says what must come of it and stands in the documentation") {
  const fs::path source = KERNSMITH_SOURCE_DIR;
  const std::string page = text_of(source / "docs/cuda.md");
  int fixtures = 0;
  for (const char* kind : {"must_fail", "must_pass"}) {
    for (const auto& entry : fs::directory_iterator(source / "tests/cuda/fixtures" / kind)) {
      CAPTURE(entry.path().string());
      const std::string text = text_of(entry.path());
      for (const char* key : {"// expect: ", "// problem: ", "// effort: ", "// origin: ", "// why: "}) {
        CAPTURE(key);
        CHECK(text.find(key) != std::string::npos);
      }
      CHECK(page.find("| `" + entry.path().stem().string() + "` |") != std::string::npos);
      ++fixtures;
    }
  }
  CHECK(fixtures >= 30);
}
