#include <doctest/doctest.h>

#include "actors/commands/line_diff.hpp"

using kernsmith::actors::line_diff;

TEST_CASE("equal texts have no difference") {
  CHECK(line_diff("a\nb\n", "a\nb\n", "x", "y").empty());
}

TEST_CASE("a changed line stands with its context and line numbers") {
  const std::string left = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", right = "1\n2\n3\n4\n5\nsix\n7\n8\n9\n10\n";
  CHECK(line_diff(left, right, "old", "new") == "--- old\n+++ new\n@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n");
}

TEST_CASE("distant changes are separate hunks") {
  std::string left, right;
  for (int i = 0; i < 40; ++i) {
    left += std::to_string(i) + "\n";
    right += (i == 3 || i == 30 ? "x" : std::to_string(i)) + "\n";
  }
  const std::string text = line_diff(left, right, "a", "b");
  CHECK(text.find("@@ -1,7 +1,7 @@") != std::string::npos);
  CHECK(text.find("@@ -28,7 +28,7 @@") != std::string::npos);
}
