#include "config/text.hpp"

#include <doctest/doctest.h>

#include <set>

#include "config/hash.hpp"

using namespace kernsmith;

TEST_CASE("nearest_name finds typing mistakes and nothing far-fetched") {
  const std::vector<std::string> known = {"shape", "dtype", "init", "softmax", "sum"};
  CHECK(nearest_name("shpae", known) == "shape");
  CHECK(nearest_name("dtyp", known) == "dtype");
  CHECK(nearest_name("SOFTMAX", known) == "softmax");
  CHECK(nearest_name("sun", known) == "sum");
  CHECK(nearest_name("quantisation", known).empty());
  CHECK(nearest_name("x", known).empty());
  CHECK(nearest_name("", known).empty());
  CHECK(did_you_mean("inti", known) == "; did you mean 'init'?");
  CHECK(did_you_mean("zzzzzz", known).empty());
}

TEST_CASE("UTF-8") {
  CHECK(is_valid_utf8("plain"));
  CHECK(is_valid_utf8("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"));
  CHECK_FALSE(is_valid_utf8("\xC3"));
  CHECK_FALSE(is_valid_utf8("\x80"));
  CHECK_FALSE(is_valid_utf8("\xC0\xAF"));          // overlong
  CHECK_FALSE(is_valid_utf8("\xED\xA0\x80"));      // surrogate
  CHECK_FALSE(is_valid_utf8("\xF4\x90\x80\x80"));  // beyond U+10FFFF
  CHECK_FALSE(is_valid_utf8("caf\xE9"));           // Latin-1
}

TEST_CASE("names of problems") {
  CHECK(is_valid_name("soft-max_2"));
  CHECK_FALSE(is_valid_name("Softmax"));
  CHECK_FALSE(is_valid_name("_x"));
  CHECK_FALSE(is_valid_name("a/b"));
  CHECK_FALSE(is_valid_name(""));
}

TEST_CASE("hashes and ids") {
  CHECK(content_hash("").size() == 32);
  CHECK(content_hash("") == "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing, as the algorithm's description gives it
  CHECK(content_hash("a") != content_hash("b"));
  CHECK(make_id("cand", "x").substr(0, 5) == "cand-");
  CHECK(make_id("cand", "x").size() == 17);
  CHECK(make_id("cand", "x") == "cand-" + content_hash("x").substr(0, 12));
  CHECK(derive_seed(1, "a") != derive_seed(1, "b"));
  CHECK(derive_seed(1, "a") != derive_seed(2, "a"));
  CHECK(derive_seed(1, "a") == derive_seed(1, "a"));
}
