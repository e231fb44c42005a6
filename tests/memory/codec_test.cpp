#include "memory/codec.hpp"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "sample_records.hpp"

using namespace kernsmith;
using namespace kernsmith::memory;
using namespace kernsmith::test;

TEST_CASE("a record survives its bytes") {
  const auto e = sample_evaluation("eval-a", "sess-1", "cand-a", 1.25);
  const auto bytes = encode_record(e);
  CHECK(bytes[0] == 1);
  const auto back = decode_record<evaluation>(bytes);
  REQUIRE(back);
  CHECK(nlohmann::json(*back) == nlohmann::json(e));
}

TEST_CASE("numbers that JSON can't say survive CBOR and become null in documents") {
  auto e = sample_evaluation("eval-a", "sess-1", "cand-a", 1);
  e.verification.max_error = std::numeric_limits<double>::infinity();
  e.timing.wall_ns = std::numeric_limits<double>::quiet_NaN();
  const auto back = decode_record<evaluation>(encode_record(e));
  REQUIRE(back);
  CHECK(std::isinf(back->verification.max_error));
  CHECK(std::isnan(back->timing.wall_ns));
  const auto text = to_json_text(nlohmann::json(*back));
  CHECK(nlohmann::json::parse(text)["verification"]["max_error"].is_null());
}

TEST_CASE("fields that an older form lacks keep their defaults") {
  const auto back = decode_record<candidate>(encode({{"id", "cand-a"}}));
  REQUIRE(back);
  CHECK(back->id == "cand-a");
  CHECK(back->language == "cpp");
}

TEST_CASE("bytes that can't be trusted are refused as corrupt") {
  const auto good = encode_record(sample_candidate("cand-a", "sess-1", 1));
  const auto refuses = [](const std::string& bytes) {
    const auto read = decode_record<candidate>(bytes);
    return !read && read.error().kind == fault::corrupt && !read.error().message.empty();
  };
  CHECK_FALSE(refuses(good));
  CHECK(refuses(""));
  CHECK(refuses("\x02" + good.substr(1)));          // another form
  CHECK(refuses(good.substr(0, good.size() - 1)));  // cut
  CHECK(refuses(good + "x"));                       // bytes left over
  CHECK(refuses(encode({{"id", 5}})));              // another type
  CHECK(refuses(encode(nlohmann::json::array({1}))));
  CHECK(refuses(std::string(max_record_bytes + 1, '\x01')));
}

TEST_CASE("what is not UTF-8 is replaced before it is stored") {
  CHECK(repaired_utf8("plain") == "plain");
  CHECK(repaired_utf8("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80") == "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80");
  CHECK(repaired_utf8("a\xFFz") == "a\xEF\xBF\xBDz");
  CHECK(repaired_utf8("\xC0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
  CHECK(repaired_utf8("\xE2\x82") == "\xEF\xBF\xBD\xEF\xBF\xBD");                  // cut
  CHECK(repaired_utf8("\xED\xA0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // surrogate
  auto e = sample_evaluation("eval-a", "sess-1", "cand-a", 1);
  e.detail = "compiler said \xFF\xFE";
  const auto back = decode_record<evaluation>(encode_record(e));
  REQUIRE(back);
  CHECK(back->detail == "compiler said \xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK_NOTHROW((void)nlohmann::json(*back).dump());
}
