// Each construct of the definition language against values worked out by hand.
#include "config/interpreter.hpp"

#include <cmath>
#include <limits>

#include "tests/config/draft.hpp"

using namespace kernsmith;
using namespace kernsmith::test;

namespace {

using numbers = std::vector<double>;

/// Runs a problem on its workload; inputs in order, values as doubles. Returns every tensor as doubles.
std::vector<numbers> computed(const problem& p, const std::vector<numbers>& inputs) {
  std::vector<tensor_values> values(p.tensors.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_float(p.tensors[i].type))
      values[i].real = inputs[i];
    else
      values[i].integer.assign(inputs[i].begin(), inputs[i].end());
  }
  const auto done = interpret(p, p.workloads.front().axes, values);
  REQUIRE_MESSAGE(done.has_value(), (done ? std::string() : done.error().message));
  std::vector<numbers> all;
  for (const tensor_values& v : values) {
    numbers row = v.real;
    for (const std::int64_t n : v.integer) row.push_back(static_cast<double>(n));
    all.push_back(row);
  }
  return all;
}

/// One input x[N], one output y[N]: y[i] = `expression`.
numbers elementwise(const std::string& expression, const numbers& x, const std::string& from = "f64", const std::string& to = "f64") {
  const std::string axes = "N = " + std::to_string(x.size());
  const problem p = parsed(draft(axes, {{"x", "N", from, ""}}, {{"y", "N", to, ""}}, "y[i] = " + expression));
  return computed(p, {x})[1];
}

}  // namespace

TEST_CASE("arithmetic and precedence") {
  CHECK(elementwise("1 + 2 * x[i]", {3}) == numbers{7});
  CHECK(elementwise("-x[i] * 2 - -1", {3}) == numbers{-5});
  CHECK(elementwise("(1 + 2) * x[i]", {3}) == numbers{9});
  CHECK(elementwise("x[i] / 4 / 2", {16}) == numbers{2});
  CHECK(elementwise("10 - x[i] - 1", {3}) == numbers{6});
  CHECK(elementwise("7 / 2 + 0 * x[i]", {1}) == numbers{3.5});  // '/' is real, also between integers
  CHECK(elementwise("1.5e1 + .5 + x[i]", {1}) == numbers{16.5});
}

TEST_CASE("functions") {
  CHECK(elementwise("select(x[i] > 0, 1.0, -1.0)", {2, -2}) == numbers{1, -1});
  CHECK(elementwise("min(x[i], 1)", {2, -2}) == numbers{1, -2});
  CHECK(elementwise("max(x[i], 1)", {2, -2}) == numbers{2, 1});
  CHECK(elementwise("abs(x[i])", {2, -2}) == numbers{2, 2});
  CHECK(elementwise("exp(x[i])", {1}) == numbers{std::exp(1.0)});
  CHECK(elementwise("log(x[i])", {2}) == numbers{std::log(2.0)});
  CHECK(elementwise("log1p(x[i])", {1e-10}) == numbers{std::log1p(1e-10)});
  CHECK(elementwise("expm1(x[i])", {1e-10}) == numbers{std::expm1(1e-10)});
  CHECK(elementwise("sqrt(x[i])", {9}) == numbers{3});
  CHECK(elementwise("rsqrt(x[i])", {16}) == numbers{0.25});
  CHECK(elementwise("pow(x[i], 3)", {2}) == numbers{8});
  CHECK(elementwise("tanh(x[i])", {0.5}) == numbers{std::tanh(0.5)});
  CHECK(elementwise("erf(x[i])", {0.5}) == numbers{std::erf(0.5)});
  CHECK(elementwise("sigmoid(x[i])", {0}) == numbers{0.5});
  CHECK(elementwise("sin(x[i])", {0.5}) == numbers{std::sin(0.5)});
  CHECK(elementwise("cos(x[i])", {0.5}) == numbers{std::cos(0.5)});
  CHECK(elementwise("floor(x[i])", {-1.5, 1.5}) == numbers{-2, 1});
  CHECK(elementwise("ceil(x[i])", {-1.5, 1.5}) == numbers{-1, 2});
  CHECK(elementwise("round(x[i])", {0.5, 1.5, 2.5, -0.5}) == numbers{0, 2, 2, 0});
  CHECK(elementwise("fma(x[i], 3, 4)", {2}) == numbers{10});
}

TEST_CASE("comparisons and logic are 0 and 1 in arithmetic") {
  CHECK(elementwise("(x[i] < 2) + (x[i] <= 2) * 10 + (x[i] == 2) * 100", {1, 2, 3}) == numbers{11, 110, 0});
  CHECK(elementwise("(x[i] > 2) + (x[i] >= 2) * 10 + (x[i] != 2) * 100", {1, 2, 3}) == numbers{100, 10, 111});
  CHECK(elementwise("x[i] > 1 and x[i] < 3", {1, 2, 3}, "f32", "bool") == numbers{0, 1, 0});
  CHECK(elementwise("not (x[i] > 1) or x[i] == 3", {1, 2, 3}, "f32", "bool") == numbers{1, 0, 1});
  CHECK(elementwise("not x[i] > 1", {1, 2}, "f32", "bool") == numbers{1, 0});
  const double nan = std::nan("");
  CHECK(elementwise("(x[i] < 1) + (x[i] >= 1) + (x[i] == x[i]) + 10 * (x[i] != x[i])", {nan}) == numbers{10});
  CHECK(std::isnan(elementwise("max(x[i], 0)", {nan})[0]));
  CHECK(std::isnan(elementwise("min(0, x[i])", {nan})[0]));
}

TEST_CASE("integers stay integers and wrap at 64 bits") {
  CHECK(elementwise("x[i] * x[i] - 1", {5}, "i32", "i64") == numbers{24});
  CHECK(elementwise("abs(x[i])", {-7}, "i8", "i64") == numbers{7});
  CHECK(elementwise("min(x[i], 3) + max(x[i], 3)", {5}, "i32", "i64") == numbers{8});
  CHECK(elementwise("x[i] * 4611686018427387904 * 2", {1}, "i64", "i64") == numbers{-0x1p63});
  CHECK(elementwise("-x[i]", {1}, "bool", "i64") == numbers{-1});
}

TEST_CASE("casts round, truncate, saturate") {
  CHECK(elementwise("f16(x[i])", {2049, 2051}) == numbers{2048, 2052});
  CHECK(elementwise("bf16(x[i])", {257}) == numbers{256});
  CHECK(elementwise("i32(x[i])", {-2.7, 1e20}, "f64", "i64") == numbers{-2, 2147483647});
  CHECK(elementwise("u8(x[i])", {-3, 300}, "f64", "i64") == numbers{0, 255});
  CHECK(elementwise("i8(x[i])", {300, -300}, "i32", "i64") == numbers{127, -128});
  CHECK(elementwise("u8(x[i])", {300, -300}, "i32", "i64") == numbers{255, 0});
  CHECK(elementwise("i64(x[i])", {std::nan("")}, "f64", "i64") == numbers{0});
  CHECK(elementwise("bool(x[i])", {0, 0.5}, "f64", "bool") == numbers{0, 1});
  CHECK(elementwise("bool(x[i])", {0, 256}, "i32", "bool") == numbers{0, 1});
}

TEST_CASE("index and axis names are numbers") {
  CHECK(elementwise("x[i] + 10 * i + 100 * N", {1, 1, 1}) == numbers{301, 311, 321});
  CHECK(elementwise("x[N - 1 - i]", {1, 2, 3}) == numbers{3, 2, 1});
  CHECK(elementwise("x[0] + x[i]", {1, 2, 3}) == numbers{2, 3, 4});
}

TEST_CASE("reductions") {
  const auto reduced = [](const std::string& expression, const std::string& to, const numbers& x) {
    const problem p = parsed(draft("B = 2\nN = 3", {{"x", "B, N", "f64", ""}}, {{"y", "B", to, ""}}, "y[b] = " + expression));
    return computed(p, {x})[1];
  };
  const numbers x = {1, 5, 5, -2, 0, -2};
  CHECK(reduced("sum(n: x[b,n])", "f64", x) == numbers{11, -4});
  CHECK(reduced("prod(n: x[b,n])", "f64", x) == numbers{25, 0});
  CHECK(reduced("max(n: x[b,n])", "f64", x) == numbers{5, 0});
  CHECK(reduced("min(n: x[b,n])", "f64", x) == numbers{1, -2});
  CHECK(reduced("argmax(n: x[b,n])", "i64", x) == numbers{1, 1});  // the first of equals
  CHECK(reduced("argmin(n: x[b,n])", "i32", x) == numbers{0, 0});
  CHECK(reduced("any(n: x[b,n] > 4)", "bool", x) == numbers{1, 0});
  CHECK(reduced("all(n: x[b,n] < 1)", "bool", x) == numbers{0, 1});
  CHECK(reduced("sum(n: x[b,n] > 0)", "i32", x) == numbers{3, 0});  // counting: a sum over booleans is an integer
  CHECK(reduced("sum(n: x[b,n]) / N + max(n: x[b,n])", "f64", {1, 2, 3, 4, 5, 6}) == numbers{5, 11});
  CHECK(reduced("max(n: sum(k < 2: x[b,n] * k))", "f64", x) == numbers{5, 0});
  CHECK(std::isnan(reduced("max(n: x[b,n])", "f64", {1, std::nan(""), 2, 0, 0, 0})[0]));
}

TEST_CASE("a reduction over several indices") {
  const problem p = parsed(draft("R = 2\nC = 3", {{"x", "R, C", "f32", ""}}, {{"y", "", "f32", ""}, {"at", "", "i64", ""}},
                                 "y = sum(r, c: x[r,c])\nat[] = argmax(r, c: x[r,c])"));
  const auto values = computed(p, {{1, 2, 3, 4, 9, 6}});
  CHECK(values[1] == numbers{25});
  CHECK(values[2] == numbers{4});
}

TEST_CASE("scans are inclusive") {
  const auto scanned = [](const std::string& expression, const std::string& from = "f64", const std::string& to = "f64") {
    const problem p = parsed(draft("B = 2\nN = 3", {{"x", "B, N", from, ""}}, {{"y", "B, N", to, ""}}, "y[b,n] = " + expression));
    return computed(p, {{1, 3, 2, -1, -3, 4}})[1];
  };
  CHECK(scanned("cumsum(n: x[b,n])") == numbers{1, 4, 6, -1, -4, 0});
  CHECK(scanned("cumprod(n: x[b,n])") == numbers{1, 3, 6, -1, 3, 12});
  CHECK(scanned("cummax(n: x[b,n])") == numbers{1, 3, 3, -1, -1, 4});
  CHECK(scanned("cummin(n: x[b,n])") == numbers{1, 1, 1, -1, -3, -3});
  CHECK(scanned("cumsum(b: x[b,n])") == numbers{1, 3, 2, 0, 0, 6});
  CHECK(scanned("cumsum(n: x[b,n] * n) + n") == numbers{0, 4, 9, 0, -2, 7});  // inside, n runs; outside, it is the element's own
  CHECK(scanned("cumsum(n: x[b,n])", "i32", "i64") == numbers{1, 4, 6, -1, -4, 0});
}

TEST_CASE("gather, with and without pad") {
  const problem bag = parsed(draft("V = 3\nD = 2\nB = 2\nL = 2", {{"table", "V, D", "f32", ""}, {"id", "B, L", "i32", ""}},
                                   {{"y", "B, D", "f32", ""}}, "y[b,d] = sum(l: table[id[b,l], d])"));
  CHECK(computed(bag, {{1, 2, 10, 20, 100, 200}, {0, 2, 1, 1}})[2] == numbers{101, 202, 20, 40});

  const problem padded = parsed(draft("V = 3\nB = 4", {{"table", "V", "f32", "pad = -1"}, {"id", "B", "i32", ""}}, {{"y", "B", "f32", ""}},
                                      "y[b] = table[id[b] + 1]"));
  CHECK(computed(padded, {{5, 6, 7}, {-2, -1, 1, 2}})[2] == numbers{-1, 5, 7, -1});

  std::vector<tensor_values> values(3);
  values[0].real = {1, 2, 10, 20, 100, 200};
  values[1].integer = {0, 3, 1, 1};
  const auto outside = interpret(bag, bag.workloads.front().axes, values);
  REQUIRE_FALSE(outside.has_value());
  CHECK(contains(outside.error().message, "index 1 of 'table' is 3, outside of 0..2"));
}

TEST_CASE("a gathered scalar and an argmax as index") {
  const problem p = parsed(draft("N = 3", {{"x", "N", "f32", ""}, {"at", "", "i32", ""}}, {{"y", "", "f32", ""}, {"top", "", "f32", ""}},
                                 "y = x[at]\nk = argmax(n: x[n])\ntop = x[k]"));
  const auto values = computed(p, {{4, 9, 6}, {2}});
  CHECK(values[2] == numbers{6});
  CHECK(values[3] == numbers{9});
}

TEST_CASE("affine loads: convolution with pad, stride and axis factors") {
  const problem same = parsed(draft("N = 4\nK = 3", {{"x", "N", "f32", "pad = 0"}, {"w", "K", "f32", ""}}, {{"y", "N", "f32", ""}},
                                    "y[i] = sum(k: x[i + k - 1] * w[k])"));
  CHECK(computed(same, {{1, 2, 3, 4}, {1, 10, 100}})[2] == numbers{210, 321, 432, 43});
  const problem strided =
      parsed(draft("H = 5\nP = 2\nR = 3", {{"x", "H", "f32", ""}}, {{"y", "P", "f32", ""}}, "y[p] = max(r < R: x[2*p + r])"));
  CHECK(computed(strided, {{5, 1, 2, 3, 4}})[1] == numbers{5, 4});
  const problem flat = parsed(draft("R = 2\nC = 3\nL = 6", {{"x", "L", "f32", ""}}, {{"y", "R, C", "f32", ""}}, "y[r,c] = x[r*C + c]"));
  CHECK(computed(flat, {{1, 2, 3, 4, 5, 6}})[1] == numbers{1, 2, 3, 4, 5, 6});
}

TEST_CASE("intermediates are rounded only where a dtype is declared; outputs are not") {
  const std::string definition = "h[i] = x[i] + 1\ny[i] = h[i] - 1";
  const std::vector<tensor_draft> in = {{"x", "N", "f32", ""}};
  const std::vector<tensor_draft> out = {{"y", "N", "f16", ""}};
  CHECK(computed(parsed(draft("N = 1", in, out, definition)), {{0x1p-20}})[1] == numbers{0x1p-20});
  CHECK(computed(parsed(draft("N = 1", in, out, definition, "[intermediates.h]\ndtype = \"f16\"\n")), {{0x1p-20}})[1] == numbers{0});
  CHECK(computed(parsed(draft("N = 1", in, out, "y[i] = x[i] * 1.0001")), {{1}})[1] == numbers{1.0001});
  const problem wraps = parsed(
      draft("N = 1", {{"x", "N", "i32", ""}}, {{"y", "N", "i32", ""}}, "h[i] = x[i]\ny[i] = h[i]", "[intermediates.h]\ndtype = \"i8\"\n"));
  CHECK(computed(wraps, {{200}})[1] == numbers{-56});
}

TEST_CASE("an input of the wrong size is refused") {
  const problem p = parsed(draft("N = 2", {{"x", "N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = x[i]"));
  std::vector<tensor_values> values(2);
  values[0].real = {1};
  CHECK_FALSE(interpret(p, {2}, values).has_value());
}
