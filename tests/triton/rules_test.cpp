// What the rules write for Triton is right, whatever is decided: the preferred decisions and others in several mixtures.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "backends/pytorch/front_end.hpp"
#include "triton_cases.hpp"

using namespace kernsmith;
using namespace kernsmith::fixtures;

namespace {

const std::filesystem::path source_folder = KERNSMITH_SOURCE_DIR;

problem loaded(const std::filesystem::path& file) {
  result<problem> p = load_problem(file);
  if (!p) FAIL(p.error().message);
  return std::move(*p);
}

/// The problem's axes, made small: odd extents, which no block divides.
std::vector<std::int64_t> small_axes(const problem& p, std::int64_t most) {
  std::vector<std::int64_t> axes = p.workloads.front().axes;
  std::int64_t next = most;
  for (std::int64_t& extent : axes)
    if (extent > next) {
      extent = next;
      next = std::max<std::int64_t>(3, next - 2);
    }
  return axes;
}

/// The module's axes, the largest that are legal below a small cap.
std::vector<std::int64_t> small_legal_axes(const problem& p) {
  for (const std::int64_t cap : {7, 12, 5, 17, 3, 33}) {
    std::vector<std::int64_t> axes;
    for (const axis& a : p.axes) axes.push_back(std::min(a.extent, cap));
    if (check_axes(p, axes)) return axes;
  }
  return {};
}

}  // namespace

// By hand: tracing takes seconds for each. KERNSMITH_MODULES: what the names begin with.
TEST_CASE("the suite's modules, small" * doctest::skip()) {
  if (skipped()) return;
  case_list cases;
  const char* wanted = std::getenv("KERNSMITH_MODULES");
  for (const auto& entry : std::filesystem::directory_iterator(source_folder / "tests/problems")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".py" || (wanted != nullptr && !name.starts_with(wanted))) continue;
    const auto traced = pytorch::trace_module(entry.path());
    if (!traced) {
      MESSAGE(name << ": " << traced.error().message);
      continue;
    }
    const std::vector<std::int64_t> axes = small_legal_axes(traced->task);
    if (axes.empty())
      MESSAGE(name << ": no small axes");
    else
      cases.add(traced->task, axes, 1);
  }
  cases.check();
}

TEST_CASE("the examples, small") {
  if (skipped()) return;
  case_list cases;
  const std::map<std::string, std::vector<std::int64_t>> other = {{"max_pool.toml", {2, 3, 14, 14, 7, 7}}};
  for (const auto& entry : std::filesystem::directory_iterator(source_folder / "docs/examples")) {
    if (entry.path().extension() != ".toml") continue;
    const problem p = loaded(entry.path());
    if (p.statements.empty()) continue;
    const auto found = other.find(entry.path().filename().string());
    cases.add(p, found != other.end() ? found->second : small_axes(p, p.axes.size() > 3 ? 9 : p.axes.size() > 2 ? 21 : 37), 1);
  }
  cases.check();
}

TEST_CASE("special values, edges, names, orders of memory") {
  if (skipped()) return;
  case_list cases;
  const auto add = [&](const std::string& axes, const std::string& tensors, const std::string& definition, std::vector<std::int64_t> at,
                       bool special_values = false) { cases.add(small_problem(axes, tensors, definition), at, 1, special_values); };
  // NaN and infinities: extrema, softmax, positions, comparisons.
  add("B=9 N=70", "in x f32[B,N]\nout y f32[B,N]",
      "m[b] = max(n: x[b,n])\ne[b,n] = exp(x[b,n] - m[b])\ns[b] = sum(n: e[b,n])\ny[b,n] = e[b,n] / s[b]", {9, 70}, true);
  add("B=9 N=21", "in x f32[B,N]\nout hi f32[B]\nout lo f32[B]\nout at i64[B]\nout below i32[B]",
      "hi[b] = max(n: x[b,n])\nlo[b] = min(n: x[b,n])\nat[b] = argmax(n: x[b,n])\nbelow[b] = i32(argmin(n: x[b,n]))", {9, 21}, true);
  add("N=200", "in x f32[N]\nin z f32[N]\nout y f32[N]\nout b bool[N]\nout i i16[N]",
      "y[n] = max(x[n], 0) + min(z[n], abs(x[n]))\nb[n] = x[n] < z[n] or not (x[n] != x[n])\ni[n] = i16(10 * x[n])", {200}, true);
  // Functions, also where they lose digits or overflow.
  add("N=300", "in x f32[N] init = { kind = \"uniform\", lo = -8, hi = 8 }\nout y f32[N]\nout z f32[N]\nout w f32[N]",
      "y[n] = tanh(x[n]) + expm1(0.01 * x[n]) + log1p(abs(x[n])) + round(x[n]) + floor(x[n]) - ceil(0.5 * x[n])\n"
      "z[n] = pow(abs(x[n]), 1.5) + pow(x[n], 3) + sigmoid(100 * x[n]) + erf(x[n]) + sin(x[n]) * cos(x[n])\n"
      "w[n] = log(1 + exp(x[n])) + sqrt(abs(x[n])) * rsqrt(1 + x[n] * x[n])",
      {300});
  add("N=60", "in x f64[N]\nout y f64[N]", "y[n] = tanh(x[n]) + 0.1 * expm1(x[n]) + pow(abs(x[n]), 0.3)", {60});
  // Indices as values, halves of a row in another order, a gather of a gather.
  add("B=5 N=33", "in x f32[B,N]\nout y f32[B,N]\nout r f32[B,N]",
      "y[b,n] = select(n <= 3 * b + 2, x[b,n] * n, 0 - b)\nr[b,n] = x[b,N - 1 - n]", {5, 33});
  add("B=6 L=7 R=11 D=19", "in table f16[R,D]\nin id i32[B,L]\nin w f32[B,L]\nout y f32[B,D]",
      "y[b,d] = sum(l: table[id[b,l], d] * w[b,l])", {6, 7, 11, 19});
  add("A=6 B=7 C=9", "in x f32[C,A,B]\nout y f16[A,B,C]\nout z f32[B]", "y[a,b,c] = 2 * x[c,a,b]\nz[b] = sum(a, c: x[c,a,b])", {6, 7, 9});
  // Scans, forwards, backwards, exclusive; a whole tensor's sum, by several programs.
  add("B=5 N=45", "in x f32[B,N]\nout y f32[B,N]\nout z i64[B,N]", "y[b,n] = cumsum(n: x[b,N - 1 - n])\nz[b,n] = cumsum(n: x[b,n] > 0)",
      {5, 45});
  add("B=5 N=25", "in x f32[B,N]\nout y f32[B,N]\nout z f32[B,N]", "y[b,n] = cumprod(n: 1 + 0.1 * x[b,n])\nz[b,n] = cummin(n: x[b,n])",
      {5, 25});
  add("M=41 N=53", "in x f32[M,N]\nin w f32[M,N]\nout l f32[1]", "d[m,n] = x[m,n] - w[m,n]\nl[o] = sum(m, n: d[m,n] * d[m,n]) / (M * N)",
      {41, 53});
  // Products: transposed, batched, with a vector on the side, mixed types, what can't be fused behind them.
  add("M=19 N=35 K=21", "in a f32[K,M]\nin b f32[N,K]\nin s f32[K]\nout c f32[M,N]",
      "c[m,n] = sum(k: exp(0.1 * a[k,m]) * b[n,k] * s[k]) / (1 + M)", {19, 35, 21});
  add("B=3 M=17 N=18 K=9", "in a f16[B,M,K]\nin b f16[B,K,N]\nout c f16[M,B,N]", "c[m,b,n] = 0.5 * sum(k: a[b,m,k] * b[b,k,n])",
      {3, 17, 18, 9});
  add("M=18 N=33 K=40", "in a bf16[M,K]\nin b f32[K,N]\nin r f32[M,N]\nout y f32[M,N]\nout t f32[M]",
      "c[m,n] = sum(k: a[m,k] * b[k,n])\ny[m,n] = max(0, c[m,n]) + r[m,n]\nt[m] = sum(n: exp(0.1 * y[m,n]))", {18, 33, 40});
  add("M=18 N=33 K=40", "in a f64[M,K]\nin b f64[K,N]\nout c f64[M,N]", "c[m,n] = sum(k: a[m,k] * b[k,n])", {18, 33, 40});
  add("M=18 N=33 K=40", "in a f32[M,K]\nin b f32[K,N]\nout c f32[M,N]", "c[m,n] = sum(k: a[m,k] * b[k,n])", {18, 33, 40}, true);
  add("M=7 N=9 K=20", "in a i32[M,K]\nin b i8[K,N]\nout c i64[M,N]", "c[m,n] = sum(k: a[m,k] * b[k,n])", {7, 9, 20});
  add("L=33 C=5 K=6", "in x f32[C,L] pad = 0\nin w f32[K,C,3]\nout y f32[K,L]", "y[k,l] = sum(c, r: x[c, l + 2 * r - 2] * w[k,c,r])",
      {33, 5, 6});
  // One of everything.
  add("B=1 N=1", "in x f32[B,N]\nout y f32[B,N]", "s[b] = sum(n: x[b,n])\ny[b,n] = x[b,n] / (1 + abs(s[b]))", {1, 1});
  add("M=1 N=1 K=1", "in a f32[M,K]\nin b f32[K,N]\nout c f32[M,N]", "c[m,n] = sum(k: a[m,k] * b[k,n])", {1, 1, 1});
  cases.check();
}

TEST_CASE("dtypes, rows, positions, products, windows, arithmetic in double") {
  if (skipped()) return;
  case_list cases;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder / "tests/opencl/problems")) {
    const problem p = loaded(entry.path());
    cases.add(p, p.workloads.front().axes, 2);
  }
  cases.check();
}
