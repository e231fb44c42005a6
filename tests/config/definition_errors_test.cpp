// What a definition is refused for: place, reason, remedy.
#include "tests/config/draft.hpp"

using namespace kernsmith;
using namespace kernsmith::test;

namespace {

// In these drafts the definition's first line is line 21 of the file.
std::string refused(const std::string& definition, const std::string& more = "") {
  const std::vector<tensor_draft> in = {{"x", "B, N", "f32", ""}, {"id", "B", "i32", ""}, {"w", "N, K", "f32", ""}};
  const std::vector<tensor_draft> out = {{"y", "B", "f32", ""}};
  return refusal_of(draft("B = 2\nN = 1024\nK = 512", in, out, definition, more));
}

}  // namespace

#define CHECK_REFUSED(definition, message) CHECK(refused(definition) == std::string("draft.toml:") + message)

TEST_CASE("the range of an index") {
  CHECK_REFUSED("y[b] = sum(k: x[b,k] * w[0,k])", "21:28: index 'k' ranges over N (1024) in x and over K (512) in w");
  CHECK_REFUSED("y[n] = sum(b: x[b,n])", "21:19: index 'n' ranges over B (2) in y and over N (1024) in x");
  CHECK_REFUSED("y[b] = sum(k < 3: x[b,k])", "21:23: index 'k' ranges over 3 in its declaration and over N (1024) in x");
  CHECK_REFUSED(
      "y[b] = sum(k: x[b,2*k])",
      "21:12: the range of index 'k' is unknown: it stands alone in no load; state it, as in sum(k < R: ...) with an axis or an integer R");
  CHECK_REFUSED("h[i] = x[0, i + 1]\ny[b] = h[0]",
                "21:3: the range of index 'i' is unknown: it stands alone in no load; declare [intermediates.h] shape");
}

TEST_CASE("places are those of the file, columns count characters, comments and continuations included") {
  CHECK_REFUSED("# first\n\ny[b] = sum(n: x[b,n]\n   * q[b])", "24:6: unknown tensor 'q'; declare it under [inputs] or write it first");
  const std::string one_line =
      "name = \"p\"\n[axes]\nN = 2\n[inputs.x]\nshape = [\"N\"]\ndtype = \"f32\"\n[outputs.y]\nshape = [\"N\"]\ndtype = "
      "\"f32\"\n[definition]\ntext = \"y[i] = z[i]\"\n";
  CHECK(contains(refusal_of(one_line), "draft.toml:11:16: unknown tensor 'z'"));
  const std::string escaped =
      "name = \"p\"\n[axes]\nN = 2\n[inputs.x]\nshape = [\"N\"]\ndtype = \"f32\"\n[outputs.y]\nshape = [\"N\"]\ndtype = "
      "\"f32\"\n[definition]\ntext = \"# \\u00e9\\ny[i] = z[i]\"\n";
  CHECK(contains(refusal_of(escaped), "draft.toml:11:26: unknown tensor 'z'"));
}

TEST_CASE("unknown names, with the nearest right one") {
  CHECK_REFUSED("y[b] = sum(n: xx[b,n])", "21:15: unknown tensor 'xx'; did you mean 'x'?");
  CHECK_REFUSED("y[b] = sun(n: x[b,n])", "21:8: 'sun' is no reduction; did you mean 'sum'?");
  CHECK_REFUSED("y[b] = sqr(x[b,0])", "21:8: unknown function 'sqr'; did you mean 'sqrt'?");
  CHECK_REFUSED("y[b] = x[b,m]",
                "21:12: unknown name 'm': it is no axis, no tensor, and no index on the left or of a reduction around it; to reduce over "
                "it write sum(m: ...)");
  CHECK_REFUSED("y[b] = x(b, 0)", "21:8: 'x' is a tensor; index it with square brackets: x[...]");
  CHECK_REFUSED("y[b] = N[b]", "21:8: 'N' is an axis, not a tensor; it takes no brackets");
  CHECK_REFUSED("y[b] = sum(k < KK: w[0,k])", "21:16: unknown axis 'KK'; did you mean 'K'?");
}

TEST_CASE("rank") {
  CHECK_REFUSED("y[b] = x[b]", "21:8: 'x' has 2 dimensions, 1 index given");
  CHECK_REFUSED("y[b] = x", "21:8: 'x' has 2 dimensions, 0 indices given");
  CHECK_REFUSED("y[b,n] = x[b,n]", "21:1: 'y' has 1 dimension, 2 indices given");
  CHECK(
      contains(refused("h[b,n] = x[b,n]\ny[b] = h[b,0]", "[intermediates.h]\nshape = [\"B\"]\n"), "'h' has 1 dimension, 2 indices given"));
}

TEST_CASE("order of statements, tensors written twice or never") {
  CHECK_REFUSED("y[b] = h[b]\nh[b] = x[b,0]", "21:8: 'h' is read before it is written; move this statement below line 22");
  CHECK_REFUSED("y[b] = y[b] + x[b,0]", "21:8: 'y' reads itself; a running value is a scan (cumsum, cumprod, cummax, cummin)");
  CHECK_REFUSED("y[b] = x[b,0]\ny[b] = x[b,1]", "22:1: 'y' is written twice; line 21 writes it already");
  CHECK_REFUSED("yy[b] = x[b,0]", "15:10: output 'y' is never written; add a statement y[...] = ... (is 'yy' meant to be it?)");
  CHECK(contains(refused("y[b] = x[b,0]", "[intermediates.h]\ndtype = \"f16\"\n"), "intermediate 'h' is never written"));
  CHECK_REFUSED("x[b,n] = 1.0\ny[b] = x[b,0]", "21:1: 'x' is an input; inputs can't be written");
}

TEST_CASE("names that are taken") {
  CHECK_REFUSED("y[b] = sum(b: x[b,0])",
                "21:12: index 'b' is already in use here (on the left or in a reduction around this one); give it another name");
  CHECK_REFUSED("y[b] = sum(N: x[b,N])", "21:12: 'N' is an axis; give the index another name");
  CHECK_REFUSED("y[B] = x[B,0]", "21:3: 'B' is an axis; the left-hand side takes index names");
  CHECK_REFUSED("h[b,b] = x[b,0]\ny[b] = h[b,b]", "21:5: index 'b' stands twice on the left-hand side");
  CHECK_REFUSED("exp[b] = x[b,0]\ny[b] = exp[b]", "21:1: 'exp' is a word of the language; give the tensor another name");
  CHECK_REFUSED("N[b] = x[b,0]", "21:1: 'N' is an axis; give the tensor another name");
}

TEST_CASE("loads that fall outside") {
  CHECK_REFUSED("y[b] = sum(n: x[b,n] * x[b,n+1])",
                "21:24: index 2 (n + 1) of 'x' reaches 1..1024, outside of 0..1023, for B = 2, N = 1024, K = 512; declare 'pad' on 'x' or "
                "change the axes");
  CHECK(contains(refused("y[b] = sum(n: x[b,n] * x[b,2*n-N])"), "(2*n - N) of 'x' reaches -1024..1022"));
  CHECK(contains(refused("y[b] = x[b,1024]"), "index 2 (1024) of 'x' reaches 1024..1024"));
  CHECK(contains(refused("y[b] = x[id[b] + 1, 0]"), "index 1 (gathered) of 'x' reaches -127..128, outside of 0..1"));
  CHECK(contains(refused("y[b] = x[id[b] + 1, 0]"), "clamp the index with min and max"));
  CHECK(refused("y[b] = x[max(0, min(id[b], B - 1)), 0]").empty());
  CHECK(contains(refused("y[b] = sum(n: x[b,n] * x[b,N*N*N*N*N*n])"), "too large to compute in 53 bits"));
}

TEST_CASE("one workload of several is named") {
  const std::string text = draft("N = 4\nM = 4", {{"x", "N", "f32", ""}}, {{"y", "M", "f32", ""}}, "y[i] = x[i] + x[i*1+N-4]",
                                 "[[workloads]]\naxes = { N = 4 }\n[[workloads]]\naxes = { N = 5, M = 5 }\n");
  CHECK(contains(refusal_of(text), "index 'i' ranges over M (4) in y and over N (4) in x"));
  const std::string shifted = draft("N = 4\nM = 3", {{"x", "N", "f32", ""}}, {{"y", "M", "f32", ""}}, "y[i] = x[i+1]",
                                    "[[workloads]]\naxes = { N = 4 }\n[[workloads]]\naxes = { N = 9, M = 9 }\n");
  CHECK(contains(refusal_of(shifted), "reaches 1..9, outside of 0..8, for N = 9, M = 9"));
}

TEST_CASE("indices that are no indices") {
  CHECK_REFUSED("y[b] = x[b, x[b,0]]", "21:13: 'x' is indexed by a real value; an index must be an integer: cast it, as in i64(...)");
  CHECK_REFUSED("y[b] = x[b, id[b] > 0]", "21:19: 'x' is indexed by a boolean value; an index must be an integer: cast it, as in i64(...)");
  CHECK_REFUSED("y[b] = x[b, 1.5]", "21:13: an index is an integer, not 1.5");
  CHECK_REFUSED("y[b] = x[b, b*b]", "21:14: this index of 'x' is neither affine in index and axis names nor a load from an integer tensor");
  CHECK_REFUSED("y[b+1] = x[b,0]", "21:4: the left-hand side takes index names only; move arithmetic to the right-hand side");
  CHECK_REFUSED("y[0] = x[0,0]", "21:3: the left-hand side takes index names only, found '0'; move arithmetic to the right-hand side");
}

TEST_CASE("types") {
  const auto typed = [](const std::string& dtype, const std::string& definition) {
    return refusal_of(draft("N = 2", {{"x", "N", "f32", ""}, {"k", "N", "i32", ""}}, {{"y", "N", dtype, ""}}, definition));
  };
  CHECK(contains(typed("i32", "y[i] = x[i]"), ":1: 'y' is i32 but the expression is real; say how to convert it, as in i32(floor(...))"));
  CHECK(contains(typed("i32", "y[i] = k[i] / 2"), "the expression is real"));
  CHECK(contains(typed("bool", "y[i] = k[i]"), "'y' is bool but the expression is an integer; compare it, as in ... != 0"));
  CHECK(typed("i32", "y[i] = k[i] > 1").empty());
  CHECK(typed("f32", "y[i] = k[i]").empty());
  CHECK(contains(typed("bool", "y[i] = x[i] and k[i] > 0"), "'and' takes a condition, not a real value; compare it, as in x != 0"));
  CHECK(contains(typed("f32", "y[i] = select(x[i], 1, 2)"), "the first argument of 'select' takes a condition"));
  CHECK(contains(typed("bool", "y[i] = any(j: x[j])"), "'any' takes a condition"));
}

TEST_CASE("reductions and scans") {
  CHECK_REFUSED("y[b] = sum(n: )", "21:8: 'sum' has no body; write what it reduces after ':'");
  CHECK_REFUSED("y[b] = sum(x[b,0])", "21:8: 'sum' names no index to run over; write sum(i: ...)");
  CHECK_REFUSED("y[b] = max(x[b,0])", "21:8: 'max' takes 2 arguments, 1 given; the reduction is written max(i: ...)");
  CHECK_REFUSED("y[b] = cumsum(n: x[b,n])",
                "21:15: 'cumsum' runs along 'n', which must stand on the left-hand side: y[..., n] = cumsum(n: ...)");
  CHECK_REFUSED("y[b] = cumsum(b, n: x[b,n])", "21:8: 'cumsum' runs along one index, 2 given");
  CHECK_REFUSED("y[b] = sum(n + 1: x[b,n])", "21:17: what stands before ':' must be index names, as in sum(i, j: ...)");
}

TEST_CASE("syntax") {
  CHECK_REFUSED("", "21:1: the definition is empty; write at least one statement, as in y[i] = x[i]");
  CHECK_REFUSED("# nothing", "21:1: the definition is empty; write at least one statement, as in y[i] = x[i]");
  CHECK_REFUSED("y[b] = ", "21:6: the right-hand side of 'y' is missing");
  CHECK_REFUSED("y[b] x[b,0]", "21:6: expected '=' after the target 'y', found 'x'");
  CHECK_REFUSED("y[b] = x[b,0] x[b,1]", "21:15: unexpected 'x' after the expression");
  CHECK_REFUSED("y[b] = (x[b,0]", "22:1: expected ')' to close the parenthesis, found the end of the line");
  CHECK_REFUSED("y[b] = x[b,0] < 1 < 2", "21:19: comparisons don't chain; write a < b and b < c");
  CHECK_REFUSED("y[b] = x[b,0] ^ 2", "21:15: powers are written pow(x, y)");
  CHECK_REFUSED("y[b] = x[b,0] ** 2", "21:15: powers are written pow(x, y)");
  CHECK_REFUSED("y[b] = 2x[b,0]", "21:9: 'x' follows a number; write a product as 2*x");
  CHECK_REFUSED("y[b] = x[b,0] && 1", "21:15: '&&' is written 'and' here");
  CHECK_REFUSED("y[b] = x[b,0] @ 2", "21:15: unexpected character '@'");
  CHECK_REFUSED("y[b] = exp(x[b,0], 1)", "21:8: 'exp' takes 1 argument, 2 given");
  CHECK_REFUSED("y[b] = f16(x[b,0], 1)", "21:8: the cast 'f16' takes 1 argument, 2 given");
  CHECK_REFUSED("y[b] = 1e999", "21:8: the number 1e999 is too large for float64");
  CHECK_REFUSED("y[b] = 99999999999999999999",
                "21:8: the integer 99999999999999999999 does not fit into 64 bits; write 99999999999999999999.0 for a real number");
  CHECK(contains(refused("y[b] = " + std::string(300, '(') + "1" + std::string(300, ')')), "nested too deeply"));
  CHECK(contains(refused("y[b] = " + std::string(300, '-') + "1"), "nested too deeply"));
}
