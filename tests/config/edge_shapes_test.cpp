#include "config/edge_shapes.hpp"

#include <algorithm>
#include <set>

#include "tests/config/draft.hpp"

using namespace kernsmith;
using namespace kernsmith::test;

namespace {

using axis_set = std::vector<std::int64_t>;

const std::string matmul = draft("M = 2048\nN = 2048\nK = 2048", {{"a", "M, K", "f32", ""}, {"b", "K, N", "f32", ""}},
                                 {{"c", "M, N", "f32", ""}}, "c[m,n] = sum(k: a[m,k] * b[k,n])");
const std::string conv = draft("N = 8\nC = 64\nK = 64\nH = 58\nW = 58\nP = 56\nQ = 56\nR = 3\nS = 3",
                               {{"x", "N, C, H, W", "f32", ""}, {"w", "K, C, R, S", "f32", ""}}, {{"y", "N, K, P, Q", "f32", ""}},
                               "y[n,k,p,q] = sum(c,r,s: x[n,c,p+r,q+s] * w[k,c,r,s])");

void check_all(const problem& p, const std::vector<axis_set>& sets) {
  CHECK(std::set<axis_set>(sets.begin(), sets.end()).size() == sets.size());
  for (const axis_set& axes : sets) {
    CHECK(check_axes(p, axes).has_value());
    double operations = 0;
    for (const statement& s : p.statements) {
      double bodies = 1;
      for (const index_variable& v : s.variables) bodies *= static_cast<double>(extent_of(v.extent, axes));
      operations += bodies;
    }
    CHECK(operations <= static_cast<double>(max_edge_operations));
    for (const tensor_declaration& t : p.tensors) CHECK(element_count(shape_of(t, axes)) <= max_edge_elements);
    for (const workload& w : p.workloads) CHECK(w.axes != axes);
  }
}

}  // namespace

TEST_CASE("a matmul gets unit, odd and tile-crossing shapes") {
  const problem p = parsed(matmul);
  const auto sets = edge_axes(p, 16);
  CHECK(sets.size() == 16);
  check_all(p, sets);
  CHECK(sets.front() == axis_set{1, 1, 1});
  for (std::size_t axis = 0; axis < 3; ++axis) {
    CHECK(std::any_of(sets.begin(), sets.end(),
                      [&](const axis_set& a) { return a[axis] == 1 && *std::max_element(a.begin(), a.end()) > 1; }));
    CHECK(std::any_of(sets.begin(), sets.end(), [&](const axis_set& a) { return a[axis] > 64 && a[axis] % 16 != 0; }));
  }
  CHECK(edge_axes(p, 16) == sets);
  const auto fewer = edge_axes(p, 5);
  CHECK(std::equal(fewer.begin(), fewer.end(), sets.begin()));
  CHECK(edge_axes(p, 0).empty());
}

TEST_CASE("axes that loads tie together are grown to fit") {
  const problem p = parsed(conv);
  const auto sets = edge_axes(p, 24);
  CHECK(sets.size() == 24);
  check_all(p, sets);
}

TEST_CASE("a shape that can't vary gives few or none") {
  const problem fixed = parsed(draft("B = 4", {{"x", "3", "f32", ""}}, {{"y", "3", "f32", ""}}, "y[i] = x[i]"));
  check_all(fixed, edge_axes(fixed, 8));
  const problem bounded = parsed(draft("B = 4", {{"x", "3", "f32", ""}}, {{"y", "2", "f32", ""}}, "y[i] = x[i+1] * B"));
  check_all(bounded, edge_axes(bounded, 8));
  const problem none = parsed(draft("", {{"x", "3", "f32", ""}}, {{"y", "3", "f32", ""}}, "y[i] = x[i]"));
  CHECK(edge_axes(none, 8).empty());
  CHECK(hidden_axes(none, 1).empty());
}

TEST_CASE("an index with a fixed init keeps shapes legal") {
  const problem p =
      parsed(draft("V = 100\nB = 16", {{"t", "V", "f32", ""}, {"id", "B", "i32", "init = { kind = 'integers', lo = 0, hi = 90 }"}},
                   {{"y", "B", "f32", ""}}, "y[b] = t[id[b] + 1]"));
  check_all(p, edge_axes(p, 8));
}

TEST_CASE("hidden shapes are legal, bounded, and differ by seed") {
  for (const std::string& text : {matmul, conv}) {
    const problem p = parsed(text);
    std::set<axis_set> distinct;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const axis_set axes = hidden_axes(p, seed);
      CHECK(axes == hidden_axes(p, seed));
      check_all(p, {axes});
      distinct.insert(axes);
    }
    CHECK(distinct.size() > 40);
  }
}
