// The hash of a problem: what it must not see and what it must.
#include "config/problem_identity.hpp"

#include <set>

#include "tests/config/draft.hpp"
#include "tests/config/folder.hpp"

using namespace kernsmith;
using namespace kernsmith::test;

namespace {

const std::string original = R"(name = "op"
[axes]
B = 8
N = 16
[inputs.x]
shape = ["B", "N"]
dtype = "f32"
init = { kind = "normal", mean = 1.0, std = 2.0 }
[inputs.w]
shape = ["N"]
dtype = "f32"
[outputs.y]
shape = ["B"]
dtype = "f32"
[definition]
text = """
h[b,n] = x[b,n] * w[n]
y[b] = sum(n: h[b,n]) / N
"""
[compare]
atol = 1e-6
[[workloads]]
axes = { B = 8, N = 16 }
[[workloads]]
axes = { B = 9, N = 16 }
weight = 2
)";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = original;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string hash_of(const std::string& text) {
  return parsed(text).hash;
}

}  // namespace

TEST_CASE("what carries no meaning doesn't change the hash") {
  const std::string hash = hash_of(original);
  CHECK(hash_of(replaced("name = \"op\"", "name = \"other\"")) == hash);
  CHECK(hash_of(replaced("B = 8\nN = 16\n[inputs", "# a comment\nN   =   16\nB=8\n\n[inputs")) == hash);
  CHECK(hash_of(replaced("mean = 1.0, std = 2.0", "std = 2, mean = 1")) == hash);
  CHECK(hash_of(replaced("h[b,n] = x[b,n] * w[n]", "# scaled\n  h[ b, n ]=x[b,n]\n   * (w[n])")) == hash);
  CHECK(hash_of(replaced("h[b,n] = x[b,n] * w[n]", "h[row,k] = x[row,k] * w[k]")) == hash);  // names of indices
  CHECK(hash_of(replaced("\"\"\"\nh[b,n]", "'''\nh[b,n]").replace(original.find("\"\"\"\n[compare]"), 3, "'''")) == hash);
  CHECK(hash_of(replaced("[axes]\nB = 8", "[axes]\nB = 1234")) == hash);  // every workload overrides it
  CHECK(hash_of(replaced("axes = { B = 8, N = 16 }\n[[workloads]]\naxes = { B = 9, N = 16 }\nweight = 2",
                         "axes = { N = 16, B = 9 }\nweight = 2.0\n[[workloads]]\naxes = { B = 8, N = 16 }")) == hash);
  const auto elsewhere = parse_problem(original, "some/where/else.toml");
  REQUIRE(elsewhere.has_value());
  CHECK(elsewhere->hash == hash);
}

TEST_CASE("what carries meaning does, each change its own way") {
  std::set<std::string> hashes = {hash_of(original)};
  const std::vector<std::string> changed = {
      replaced("* w[n]", "+ w[n]"),
      replaced("x[b,n] * w[n]", "w[n] * x[b,n]"),
      replaced("/ N", "/ 16"),
      replaced("/ N", "/ 16.0"),
      replaced("sum(n:", "max(n:"),
      replaced("mean = 1.0", "mean = 1.5"),
      replaced("dtype = \"f32\"\n[outputs", "dtype = \"f16\"\n[outputs"),
      replaced("[\"N\"]\ndtype = \"f32\"\n[outputs", "[\"N\"]\npad = 0\ndtype = \"f32\"\n[outputs"),
      replaced("atol = 1e-6", "atol = 1e-5"),
      replaced("atol = 1e-6", "mode = \"bitwise\""),
      replaced("[compare]\natol = 1e-6\n", ""),
      replaced("[compare]", "[precision]\nlowest = \"bf16\"\n[compare]"),
      replaced("[compare]", "[candidates]\nlibraries = [\"openblas\"]\n[compare]"),
      replaced("[compare]", "[objective]\nmetric = \"p90\"\n[compare]"),
      replaced("[compare]", "[timing]\nreplay = \"graph\"\n[compare]"),
      replaced("[compare]", "[intermediates.h]\ndtype = \"f32\"\n[compare]"),
      replaced("[compare]", "[baselines.fast]\nbuiltin = \"openblas\"\n[compare]"),
      replaced("axes = { B = 9, N = 16 }", "axes = { B = 10, N = 16 }"),
      replaced("weight = 2", "weight = 3"),
      replaced("[inputs.w]\nshape = [\"N\"]\ndtype = \"f32\"\n", "")
          .insert(original.find("[inputs.x]"), "[inputs.w]\nshape = [\"N\"]\ndtype = \"f32\"\n"),
  };
  for (const std::string& text : changed) {
    CAPTURE(text);
    CHECK(hashes.insert(hash_of(text)).second);
  }
}

TEST_CASE("the content of sources and init files counts, their names don't") {
  const folder files;
  files.write("a.cpp", "int a;\n");
  files.write("b.cpp", "int a;\n");
  files.write("c.cpp", "int c;\n");
  files.write("one.bin", std::string(64, '\1'));
  files.write("two.bin", std::string(64, '\2'));
  const auto hash = [&](const std::string& source, const std::string& data) {
    const std::string text = draft("N = 16", {{"x", "N", "f32", "init = { kind = 'file', path = '" + data + "' }"}},
                                   {{"y", "N", "f32", ""}}, "y[i] = x[i]", "[seed_kernels]\nmine = '" + source + "'\n");
    const auto p = parse_problem(text, files.path() / "p.toml");
    REQUIRE_MESSAGE(p.has_value(), (p ? std::string() : p.error().message));
    return p->hash;
  };
  CHECK(hash("a.cpp", "one.bin") == hash("b.cpp", "one.bin"));
  CHECK(hash("a.cpp", "one.bin") != hash("c.cpp", "one.bin"));
  CHECK(hash("a.cpp", "one.bin") != hash("a.cpp", "two.bin"));
}

TEST_CASE("defaults written out are the defaults") {
  const auto with = [](const std::string& more) {
    return hash_of(draft("N = 4", {{"x", "N", "f32", more}}, {{"y", "N", "f32", ""}}, "y[i] = x[i]"));
  };
  CHECK(with("") == with("init = { kind = 'normal' }"));
  CHECK(with("") == with("init = { kind = 'normal', mean = 0, std = 1.0 }"));
  const auto explicit_workload = [](const std::string& more) {
    return hash_of(draft("N = 4", {{"x", "N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = x[i]", more));
  };
  CHECK(explicit_workload("") == explicit_workload("[[workloads]]\naxes = { N = 4 }\n"));
  CHECK(explicit_workload("") == explicit_workload("[[workloads]]\nweight = 1\n"));
  CHECK(explicit_workload("") == explicit_workload("[timing]\nreplay = \"none\"\n"));
}
