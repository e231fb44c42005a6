#include "config/input_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "config/random.hpp"
#include "tests/config/draft.hpp"
#include "tests/config/folder.hpp"

using namespace kernsmith;
using namespace kernsmith::test;

namespace {

using axis_set = std::vector<std::int64_t>;

std::vector<std::byte> bytes_of(const problem& p, int tensor, const axis_set& axes, std::uint64_t seed = 1,
                                content kind = content::as_declared) {
  const tensor_declaration& t = p.tensors[static_cast<std::size_t>(tensor)];
  std::vector<std::byte> data(static_cast<std::size_t>(element_count(shape_of(t, axes))) * size_of(t.type));
  const auto filled = fill_input(p, tensor, axes, seed, kind, data.data());
  REQUIRE_MESSAGE(filled.has_value(), (filled ? std::string() : filled.error().message));
  return data;
}

std::vector<double> values_of(const problem& p, int tensor, const axis_set& axes, std::uint64_t seed = 1,
                              content kind = content::as_declared) {
  const std::vector<std::byte> data = bytes_of(p, tensor, axes, seed, kind);
  const dtype type = p.tensors[static_cast<std::size_t>(tensor)].type;
  std::vector<double> values(data.size() / size_of(type));
  load_as_double(data.data(), 0, type, values);
  return values;
}

problem one_input(const std::string& dtype, const std::string& init, const std::string& axes = "B = 8\nN = 4096") {
  const bool real = dtype[0] == 'f' || dtype[0] == 'b';
  return parsed(draft(axes, {{"x", "B, N", dtype, init.empty() ? "" : "init = " + init}},
                      {{"y", "B, N", real && dtype != "bool" ? "f32" : "i64", ""}}, "y[b,n] = x[b,n]"));
}

struct moments {
  double mean = 0;
  double deviation = 0;
};

moments moments_of(const std::vector<double>& values) {
  moments m;
  for (const double v : values) m.mean += v / static_cast<double>(values.size());
  for (const double v : values) m.deviation += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
  m.deviation = std::sqrt(m.deviation);
  return m;
}

}  // namespace

TEST_CASE("the normal quantile") {
  const normal_law law;
  CHECK(law.quantile(0x80000000u) == doctest::Approx(0).epsilon(1e-8));
  for (const std::uint32_t bits : {0u, 1u, 1000u, 0x00100000u, 0x01234567u, 0x40000000u, 0x7FFFFFFFu, 0xC0000000u, 0xFFFFFFFFu}) {
    const double p = unit_interval(bits);
    CHECK(0.5 * std::erfc(-law.quantile(bits) / std::sqrt(2.0)) == doctest::Approx(p).epsilon(1e-4));
    CHECK(law.quantile(bits) == doctest::Approx(-law.quantile(~bits)).epsilon(1e-6));
  }
  CHECK(law.quantile(0) < -6);
}

TEST_CASE("normal and uniform inputs of every float dtype have the moments they declare") {
  for (const char* dtype : {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2"}) {
    CAPTURE(dtype);
    const moments normal = moments_of(values_of(one_input(dtype, "{ kind = 'normal', mean = 3, std = 0.5 }"), 0, {8, 4096}));
    CHECK(normal.mean == doctest::Approx(3).epsilon(0.02));
    CHECK(normal.deviation == doctest::Approx(0.5).epsilon(0.15));
    const std::vector<double> uniform = values_of(one_input(dtype, "{ kind = 'uniform', lo = 0.1, hi = 0.9 }"), 0, {8, 4096});
    CHECK(*std::min_element(uniform.begin(), uniform.end()) >= 0.1);
    CHECK(*std::max_element(uniform.begin(), uniform.end()) < 0.9);
    CHECK(moments_of(uniform).mean == doctest::Approx(0.5).epsilon(0.05));
  }
}

TEST_CASE("large tensors of narrow dtypes are drawn by table, to the same law") {
  for (const char* dtype : {"f16", "bf16", "f8e5m2"}) {
    CAPTURE(dtype);
    const auto values = values_of(one_input(dtype, ""), 0, {1, 300001});
    CHECK(moments_of(values).mean == doctest::Approx(0).epsilon(0.02));
    CHECK(moments_of(values).deviation == doctest::Approx(1).epsilon(0.05));
    CHECK(values[300000] != values[299999]);
  }
  const auto bytes = values_of(one_input("i8", "{ kind = 'integers', lo = -3, hi = 3 }"), 0, {1, 300001});
  CHECK(std::set<double>(bytes.begin(), bytes.end()) == std::set<double>{-3, -2, -1, 0, 1, 2, 3});
  CHECK(moments_of(bytes).deviation == doctest::Approx(2).epsilon(0.02));
}

TEST_CASE("contents depend on the seed, the tensor and nothing else") {
  const problem p = parsed(draft("N = 100", {{"a", "N", "f32", ""}, {"b", "N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = a[i] * b[i]"));
  CHECK(bytes_of(p, 0, {100}, 7) == bytes_of(p, 0, {100}, 7));
  CHECK(bytes_of(p, 0, {100}, 7) != bytes_of(p, 0, {100}, 8));
  CHECK(bytes_of(p, 0, {100}, 7) != bytes_of(p, 1, {100}, 7));
  const auto whole = values_of(p, 0, {100}, 7);
  const std::set<double> distinct(whole.begin(), whole.end());
  CHECK(distinct.size() == 100);
}

TEST_CASE("integers cover their range, both ends included, and no more") {
  for (const char* dtype : {"i64", "i32", "i16", "i8", "u8"}) {
    CAPTURE(dtype);
    const auto values = values_of(one_input(dtype, "{ kind = 'integers', lo = 2, hi = 5 }"), 0, {8, 4096});
    CHECK(std::set<double>(values.begin(), values.end()) == std::set<double>{2, 3, 4, 5});
  }
  const auto bytes = values_of(one_input("u8", ""), 0, {8, 4096});
  CHECK(*std::min_element(bytes.begin(), bytes.end()) == 0);
  CHECK(*std::max_element(bytes.begin(), bytes.end()) == 255);
  const auto truths = values_of(one_input("bool", ""), 0, {8, 4096});
  CHECK(std::set<double>(truths.begin(), truths.end()) == std::set<double>{0, 1});
  const auto wide = values_of(one_input("i64", "{ kind = 'integers', lo = -9007199254740992, hi = 9007199254740992 }"), 0, {8, 4096});
  CHECK(*std::max_element(wide.begin(), wide.end()) > 8e15);
}

TEST_CASE("zipf falls as declared, by table and without") {
  for (const std::int64_t count : {4096, 400000}) {
    CAPTURE(count);
    const auto values = values_of(one_input("i32", "{ kind = 'zipf', alpha = 1.0, n = 1000 }"), 0, {1, count});
    std::map<double, double> shares;
    for (const double v : values) shares[v] += 1 / static_cast<double>(values.size());
    CHECK(shares.begin()->first == 0);
    CHECK(shares.rbegin()->first <= 999);
    CHECK(shares[0] == doctest::Approx(std::log(3) / std::log(2001)).epsilon(0.1));
    CHECK(shares[0] > 1.5 * shares[1]);
    CHECK(shares[1] > shares[4]);
  }
}

TEST_CASE("constant, arange, sorted") {
  CHECK(values_of(one_input("f32", "{ kind = 'constant', value = 2.5 }"), 0, {1, 3}) == std::vector<double>{2.5, 2.5, 2.5});
  CHECK(values_of(one_input("i32", "{ kind = 'arange', start = 5, step = -2 }"), 0, {2, 2}) == std::vector<double>{5, 3, 1, -1});
  CHECK(values_of(one_input("f32", "{ kind = 'arange', step = 0.5 }"), 0, {1, 3}) == std::vector<double>{0, 0.5, 1});
  for (const char* dtype : {"f64", "f32", "f16", "bf16", "f8e4m3"}) {
    CAPTURE(dtype);
    const auto values = values_of(one_input(dtype, "{ kind = 'sorted', of = { kind = 'normal' } }"), 0, {4, 1000});
    for (std::size_t row = 0; row < 4; ++row) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(row * 1000);
      CHECK(std::is_sorted(first, first + 1000));
      CHECK(*first < *(first + 999));
    }
  }
}

TEST_CASE("a file is read as it is, and again when the shape is larger") {
  const folder files;
  const float content_of_file[] = {1, 2, 3};
  files.write("x.bin", std::string(reinterpret_cast<const char*>(content_of_file), sizeof(content_of_file)));
  const std::string text =
      draft("N = 3", {{"x", "N", "f32", "init = { kind = 'file', path = 'x.bin' }"}}, {{"y", "N", "f32", ""}}, "y[i] = x[i]");
  const auto p = parse_problem(text, files.path() / "p.toml");
  REQUIRE(p.has_value());
  CHECK(values_of(*p, 0, {3}) == std::vector<double>{1, 2, 3});
  CHECK(values_of(*p, 0, {2}) == std::vector<double>{1, 2});
  CHECK(values_of(*p, 0, {7}) == std::vector<double>{1, 2, 3, 1, 2, 3, 1});
  std::filesystem::remove(files.path() / "x.bin");
  std::vector<float> data(3);
  const auto gone = fill_input(*p, 0, {3}, 1, content::as_declared, data.data());
  REQUIRE_FALSE(gone.has_value());
  CHECK(gone.error().kind == fault::missing_here);
}

TEST_CASE("indices stay in range at every shape, whatever their init") {
  const std::vector<std::string> inits = {"",
                                          "{ kind = 'integers', lo = 5, hi = 99 }",
                                          "{ kind = 'zipf', alpha = 1.1, n = 100 }",
                                          "{ kind = 'zipf' }",
                                          "{ kind = 'constant', value = 99 }",
                                          "{ kind = 'arange', step = 3 }",
                                          "{ kind = 'sorted', of = { kind = 'integers', lo = 0, hi = 99 } }"};
  for (const std::string& init : inits) {
    CAPTURE(init);
    const problem p = parsed(draft("V = 100\nB = 30", {{"t", "V", "f32", ""}, {"id", "B", "i32", init.empty() ? "" : "init = " + init}},
                                   {{"y", "B", "f32", ""}}, "y[b] = t[id[b]]"));
    for (const std::int64_t rows : {1, 2, 7, 100, 1000}) {
      for (const content kind : applicable_contents(p)) {
        for (const double v : values_of(p, 1, {rows, 30}, 3, kind)) {
          if (v < 0 || v >= static_cast<double>(rows)) FAIL("index " << v << " of " << rows);
        }
      }
    }
  }
  const problem two = parsed(draft("V = 9\nU = 5\nB = 300", {{"t", "V", "f32", ""}, {"s", "U", "f32", ""}, {"id", "B", "u8", ""}},
                                   {{"y", "B", "f32", ""}}, "y[b] = t[id[b]] + s[id[b]]"));
  const auto values = values_of(two, 2, {9, 5, 300});
  CHECK(*std::max_element(values.begin(), values.end()) == 4);  // the tighter of two limits
}

TEST_CASE("contents that hurt") {
  const problem p = one_input("f32", "");
  CHECK(applicable_contents(p).size() == content_count);
  CHECK(moments_of(values_of(p, 0, {8, 4096}, 1, content::large_magnitude)).deviation == doctest::Approx(1000).epsilon(0.02));
  const auto pairs = values_of(p, 0, {8, 4096}, 1, content::cancellation);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (std::fabs(pairs[i] + pairs[i + 1]) > 1e-6 * std::fabs(pairs[i]) + 1e-30) FAIL("no cancellation at " << i);
  }
  for (const double v : values_of(p, 0, {8, 4096}, 1, content::denormal)) {
    if (std::fabs(v) >= 0x1p-126) FAIL("not below the normal numbers: " << v);
  }
  const auto rows = values_of(p, 0, {8, 4096}, 1, content::equal_rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] != rows[i / 4096 * 4096]) FAIL("row is not equal at " << i);
  }
  CHECK(rows[0] != rows[4096]);
  const auto zeros = values_of(p, 0, {8, 4096}, 1, content::zeros);
  CHECK(std::all_of(zeros.begin(), zeros.end(), [](double v) { return v == 0; }));
}

TEST_CASE("contents that hurt stay finite and inside declared bounds") {
  for (const char* dtype : {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2"}) {
    CAPTURE(dtype);
    const problem normal = one_input(dtype, "{ kind = 'normal', mean = 5, std = 20 }");
    const problem uniform = one_input(dtype, "{ kind = 'uniform', lo = 0.25, hi = 1 }");
    for (const content kind : applicable_contents(normal)) {
      CAPTURE(name_of(kind));
      for (const double v : values_of(normal, 0, {8, 500}, 1, kind)) {
        if (!std::isfinite(v)) FAIL("not finite");
      }
      for (const double v : values_of(uniform, 0, {8, 500}, 1, kind)) {
        if (v < 0.25 || v >= 1) FAIL("outside: " << v);
      }
    }
  }
}

TEST_CASE("contents leave other inputs as declared") {
  const problem p = one_input("i32", "");
  CHECK(applicable_contents(p) == std::vector<content>{content::as_declared});
  const problem constant = one_input("f32", "{ kind = 'constant', value = 3 }");
  CHECK(applicable_contents(constant).size() == 1);
}

TEST_CASE("tolerances grow with the magnitude of contents") {
  const problem p = parsed(draft("M = 2\nN = 2\nK = 64", {{"a", "M, K", "f32", ""}, {"b", "K, N", "f32", ""}}, {{"c", "M, N", "f32", ""}},
                                 "c[m,n] = sum(k: a[m,k] * b[k,n])"));
  const double plain = compare_for(p, 2, {2, 2, 64}).atol;
  CHECK(compare_for(p, 2, {2, 2, 64}, content::zeros).atol == plain);
  CHECK(compare_for(p, 2, {2, 2, 64}, content::large_magnitude).atol == doctest::Approx(plain * 1e6).epsilon(0.01));
}
