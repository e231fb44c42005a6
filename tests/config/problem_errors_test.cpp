// What a problem file is refused for, outside of its definition.
#include <sys/stat.h>

#include "tests/config/draft.hpp"
#include "tests/config/folder.hpp"

using namespace kernsmith;
using namespace kernsmith::test;

namespace {

/// x [N] -> y [N] with `input` as further lines of x and `more` before the definition.
std::string refused(const std::string& input, const std::string& more = "", const std::string& dtype = "f32",
                    const std::string& axes = "N = 4") {
  return refusal_of(draft(axes, {{"x", "N", dtype, input}}, {{"y", "N", dtype, ""}}, "y[i] = x[i]", more));
}

std::string loaded(const std::filesystem::path& file) {
  const auto p = load_problem(file);
  return p ? "" : p.error().message;
}

}  // namespace

TEST_CASE("unknown keys, wherever they stand") {
  CHECK(refused("", "[compere]\nmode = 'bitwise'\n") ==
        "draft.toml:10:2: unknown key 'compere' in the problem file; did you mean 'compare'?");
  CHECK(refused("int = { kind = 'normal' }") == "draft.toml:7:1: unknown key 'int' in [inputs.x]; did you mean 'init'?");
  CHECK(refused("init = { kind = 'normal', meen = 1 }") ==
        "draft.toml:7:27: unknown key 'meen' in the init of 'x' (normal); did you mean 'mean'?");
  CHECK(contains(refused("init = { kind = 'normal', lo = 1 }"), "unknown key 'lo' in the init of 'x' (normal)"));
  CHECK(refused("", "[compare]\nmde = 'bitwise'\n") == "draft.toml:11:1: unknown key 'mde' in [compare]; did you mean 'mode'?");
  CHECK(contains(refused("", "[[workloads]]\nweigth = 1\n"), ":11:1: unknown key 'weigth' in [[workloads]]; did you mean 'weight'?"));
  CHECK(contains(refused("", "[precision]\nfoo_bar = 1\n"), "unknown key 'foo_bar' in [precision]; known here: lowest, error_multiple"));
  CHECK(contains(refused("", "[baselines.b]\nbultin = 'naive'\n"), "unknown key 'bultin' in [baselines.b]; did you mean 'builtin'?"));
  CHECK(contains(refused("", "[intermediates.h]\ndtyp = 'f32'\n"), "unknown key 'dtyp' in [intermediates.h]; did you mean 'dtype'?"));
  CHECK(contains(refusal_of(draft("N = 4", {{"x", "N", "f32", ""}}, {{"y", "N", "f32", "init = { kind = 'normal' }"}}, "y[i] = x[i]")),
                 "unknown key 'init' in [outputs.y]"));
}

TEST_CASE("unknown names with the nearest right one") {
  CHECK(refused("", "", "f23") == "draft.toml:6:9: unknown dtype 'f23'; did you mean 'f32'?");
  CHECK(contains(refused("", "", "quaternion"), "unknown dtype 'quaternion'; known: f64, f32"));
  CHECK(contains(refused("init = { kind = 'nomral' }"), "unknown init kind 'nomral'; did you mean 'normal'?"));
  CHECK(contains(refused("", "[compare]\nmode = 'alclose'\n"),
                 "'mode' in [compare] is 'alclose'; it must be one of allclose, bitwise, ulp, normwise; did you mean 'allclose'?"));
  CHECK(contains(refused("", "[objective]\nmetric = 'latancy'\n"), "did you mean 'latency'?"));
  CHECK(contains(refused("", "[candidates]\nlibraries = ['cublass']\n"), "unknown library 'cublass'; did you mean 'cublas'?"));
  CHECK(contains(refused("", "[timing]\nreplay = 'grahp'\n"),
                 ":11:10: 'replay' in [timing] is 'grahp'; it must be one of none, graph; did you mean 'graph'?"));
  CHECK(contains(refused("", "[timing]\nreplya = 'graph'\n"), ":11:1: unknown key 'replya' in [timing]; did you mean 'replay'?"));
  CHECK(contains(refused("", "[timing]\n"), "replay = \"graph\""));
  CHECK(contains(refused("", "[baselines.b]\nbuiltin = 'opnblas'\n"), "unknown builtin baseline 'opnblas'; did you mean 'openblas'?"));
  CHECK(contains(refused("", "[[workloads]]\naxes = { M = 3 }\n"), ":11:10: unknown axis 'M' in [[workloads]]"));
  CHECK(contains(refusal_of(draft("Batch = 4", {{"x", "Bach", "f32", ""}}, {{"y", "Batch", "f32", ""}}, "y[i] = x[i]")),
                 "draft.toml:5:10: unknown axis 'Bach' in the shape of [inputs.x]; did you mean 'Batch'?"));
}

TEST_CASE("axes and sizes") {
  CHECK(refused("", "", "f32", "N = 0") == "draft.toml:3:5: axis 'N' is 0; it must be at least 1");
  CHECK(refused("", "", "f32", "N = -3") == "draft.toml:3:5: axis 'N' is -3; it must be at least 1");
  CHECK(contains(refused("", "", "f32", "N = 'x'"), "axis 'N' must be an integer, not a string"));
  CHECK(contains(refused("", "", "f32", "N = 1.5"), "axis 'N' must be an integer, not a number with a fraction"));
  CHECK(contains(refused("", "[[workloads]]\naxes = { N = 0 }\n"), ":11:14: axis 'N' is 0"));
  CHECK(refused("", "", "f32", "N = 1099511627776") ==
        "draft.toml:4:9: 'x' has more than 4294967296 elements, the most one tensor may have, for N = 1099511627776; lower the axes");
  CHECK(contains(refusal_of(draft("N = 9000000000000", {{"x", "N, N, N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = x[i,0,0]")),
                 "has more than 4294967296 elements"));
  CHECK(contains(refusal_of(draft("N = 4", {{"x", "N, 0", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = x[i,0]")),
                 "an extent in the shape of [inputs.x] is 0"));
  CHECK(contains(refusal_of(draft("N = 4", {{"x", "1,1,1,1,1,1,1,1,1", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = 1.0")),
                 "at most 8 are supported"));
  CHECK(contains(refused("", "[[workloads]]\naxes = { N = 2 }\nweight = 0\n"), "the weight of a workload must be above 0"));
  CHECK(contains(refused("", "[[workloads]]\naxes = { N = 2 }\n[[workloads]]\naxes = { N = 2 }\n"), "these axes are a workload already"));
}

TEST_CASE("names") {
  CHECK(contains(refusal_of(draft("N = 4", {{"N", "N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = 1.0")), "'N' is an axis already"));
  CHECK(contains(refusal_of(draft("N = 4", {{"x", "N", "f32", ""}}, {{"x", "N", "f32", ""}}, "x[i] = 1.0")),
                 "'x' is declared as an input and as an output"));
  CHECK(contains(refusal_of(draft("N = 4", {{"exp", "N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = 1.0")),
                 "'exp' is a word of the definition language"));
  CHECK(contains(refusal_of(draft("f32 = 4", {{"x", "f32", "f32", ""}}, {{"y", "f32", "f32", ""}}, "y[i] = x[i]")),
                 "'f32' is a word of the definition language"));
  CHECK(contains(refusal_of(draft("N = 4", {{"\"a-b\"", "N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = 1.0")),
                 "'a-b' can't name a tensor"));
  CHECK(contains(refused("", "[intermediates.x]\ndtype = 'f16'\n"), "'x' is an input already"));
  std::string renamed = draft("N = 4", {{"x", "N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = x[i]");
  renamed.replace(renamed.find("\"draft\""), 7, "\"My Op\"");
  CHECK(refusal_of(renamed) == "draft.toml:1:8: 'My Op' can't name a problem; use up to 64 lower-case letters, digits, '_' and '-'");
  CHECK(refusal_of(draft("N = 4", {{"x", "N", "f32", ""}}, {{"sum", "N", "f32", ""}}, "sum[i] = sum(j: x[j]) + x[i]"))
            .empty());  // brackets tell them apart
}

TEST_CASE("missing parts") {
  const std::string head = "name = \"p\"\n[axes]\nN = 4\n";
  const std::string x = section("inputs", {"x", "N", "f32", ""});
  const std::string y = section("outputs", {"y", "N", "f32", ""});
  CHECK(contains(refusal_of(""), "the problem file lacks 'name'"));
  CHECK(contains(refusal_of(head + y), "the problem file lacks 'inputs'; add it, as in [inputs.x]"));
  CHECK(contains(refusal_of(head + x), "the problem file lacks 'outputs'"));
  CHECK(contains(refusal_of(head + x + "[outputs]\n[definition]\ntext='y[i]=x[i]'\n"), "the problem has no outputs"));
  CHECK(contains(refusal_of(head + x + y), "nothing says what to compute; add a [definition] or a [reference]"));
  CHECK(contains(refusal_of(head + x + y + "[definition]\ntext = 'y[i] = x[i]'\n[reference]\nsource = 'r.cpp'\n"),
                 ":12:2: a problem has either a [definition] or a [reference], not both"));
  CHECK(contains(refusal_of(head + x + y + "[definition]\n"), "[definition] lacks 'text'"));
  CHECK(contains(refusal_of(head + "[inputs.x]\nshape = ['N']\n" + y), "[inputs.x] lacks 'dtype'"));
}

TEST_CASE("TOML itself") {
  CHECK(contains(refusal_of("name = \n"), "draft.toml:1:8: TOML syntax: "));
  CHECK(contains(refusal_of("name = \"a\"\nname = \"b\"\n"), "draft.toml:2:"));
  CHECK(contains(refusal_of("name = \"p\"\n[axes]\nN = 3\ntext = \"\xE9\"\n"), "draft.toml:4:9: not UTF-8 text"));
  CHECK(contains(refusal_of("name = 3\n[inputs]\n"), "draft.toml:1:8: 'name' must be a string, not an integer"));
  CHECK(contains(refusal_of(std::string(2 * 1024 * 1024, ' ')), "larger than 1048576 bytes"));
}

TEST_CASE("inits") {
  const auto integer = [](const std::string& init, const std::string& dtype = "i32") { return refused("init = " + init, "", dtype); };
  CHECK(contains(integer("{ kind = 'normal' }"), "init 'normal' is for floats and 'x' is i32; use integers { lo, hi }"));
  CHECK(contains(integer("{ kind = 'integers', lo = 3, hi = 2 }"), "lo 3 is above hi 2"));
  CHECK(contains(integer("{ kind = 'integers', lo = 0, hi = 300 }", "u8"), "hi 300 does not fit into u8"));
  CHECK(contains(integer("{ kind = 'constant', value = 0.5 }"), "value 0.5 is no integer, but 'x' is i32"));
  CHECK(contains(integer("{ kind = 'zipf', alpha = 0, n = 3 }"), "'alpha' must be above 0"));
  CHECK(contains(integer("{ kind = 'zipf', alpha = 1 }"), "(zipf) lacks 'n'"));
  CHECK(contains(integer("{ kind = 'integers', lo = 0 }"), "lacks 'hi'"));
  CHECK(contains(integer("{ lo = 0 }"), "lacks 'kind'"));
  CHECK(contains(integer("3"), "the init of 'x' must be a table, not an integer"));
  CHECK(contains(refused("init = { kind = 'uniform', lo = 1, hi = 1 }"), "lo 1 must be below hi 1"));
  CHECK(contains(refused("init = { kind = 'normal', std = -1 }"), "'std' can't be negative"));
  CHECK(contains(refused("init = { kind = 'normal', std = nan }"), "must be finite"));
  CHECK(contains(refused("init = { kind = 'constant', value = 1e6 }", "", "f16"), "value 1000000 is too large for f16"));
  CHECK(contains(refused("init = { kind = 'file', path = 'no/such.bin' }"), "no/such.bin can't be read"));
  CHECK(contains(refused("pad = 0.5", "", "i32"), "pad 0.5 of 'x' is no value of its dtype i32"));
  CHECK(refused("pad = -inf").empty());
}

TEST_CASE("an explicit init of an index that must leave its range") {
  const auto gathered = [](const std::string& init, const std::string& more = "") {
    return refusal_of(draft("V = 10\nB = 4", {{"t", "V", "f32", ""}, {"id", "B", "i32", "init = " + init}}, {{"y", "B", "f32", ""}},
                            "y[b] = t[id[b]]", more));
  };
  CHECK(gathered("{ kind = 'integers', lo = 0, hi = 9 }").empty());
  CHECK(gathered("{ kind = 'integers', lo = 0, hi = 10 }") ==
        "draft.toml:8:9: 'id' is used as an index and its init gives 0..10, but only 0..9 is valid (V = 10); change lo, hi or n");
  CHECK(contains(gathered("{ kind = 'integers', lo = -1, hi = 3 }"), "gives -1..3"));
  CHECK(contains(gathered("{ kind = 'zipf', n = 11 }"), "gives 0..10"));
  CHECK(contains(gathered("{ kind = 'constant', value = 10 }"), "gives 10..10"));
  CHECK(contains(gathered("{ kind = 'arange', start = 7 }"), "gives 7..10"));
  CHECK(contains(gathered("{ kind = 'integers', lo = 0, hi = 9 }", "[[workloads]]\naxes = { V = 5 }\n"), "only 0..4 is valid (V = 5)"));
  CHECK(gathered("{ kind = 'zipf', alpha = 1.1 }").empty());
}

TEST_CASE("comparison") {
  CHECK(contains(refused("", "[compare]\nmode = 'ulp'\n"), "[compare] lacks 'ulp'; add it, as in ulp = 4"));
  CHECK(contains(refused("", "[compare]\nmode = 'bitwise'\natol = 1\n"), "'atol' belongs to mode \"allclose\""));
  CHECK(contains(refused("", "[compare]\nrtol = -1\n"), "'rtol' can't be negative"));
  CHECK(contains(refused("", "[precision]\nlowest = 'i8'\n"), "'lowest' is i8; it must be a float dtype"));
}

TEST_CASE("sources and files") {
  const folder files;
  files.write("empty.cpp", "\n");
  files.write("latin.cpp", "// caf\xE9\n");
  files.write("k.cpp", "void launch();\n");
  const auto seeded = [&](const std::string& value) {
    const std::string text =
        draft("N = 4", {{"x", "N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = x[i]", "[seed_kernels]\nmine = " + value + "\n");
    const auto p = parse_problem(text, files.path() / "p.toml");
    return p ? std::string() : p.error().message;
  };
  CHECK(seeded("'k.cpp'").empty());
  CHECK(contains(seeded("'none.cpp'"),
                 "p.toml:11:8: the source 'none.cpp' does not exist (looked for " + (files.path() / "none.cpp").string()));
  CHECK(contains(seeded("'empty.cpp'"), "is empty"));
  CHECK(contains(seeded("'latin.cpp'"), "is not UTF-8 text"));
  CHECK(contains(seeded("'.'"), "can't be told from its name"));
  CHECK(contains(seeded("{ source = '.', language = 'cpp' }"), "is no regular file"));
  CHECK(contains(seeded("{ source = 'k.cpp', language = 'fortran' }"), "unknown language 'fortran'"));
  CHECK(contains(refused("", "[candidates]\nlibraries = ['openbals']\n"), "unknown library 'openbals'; did you mean 'openblas'?"));
  CHECK(contains(refused("", "[candidates]\nlibraries = ['openblas', 'openblas']\n"), "'openblas' is named twice"));
  CHECK(contains(refused("", "[candidates]\nlibraries = 'openblas'\n"), "'libraries' in [candidates]"));
  CHECK(contains(refused("", "[candidates]\n"), "libraries = [\"openblas\"]"));
  CHECK(contains(refused("", "[baselines.b]\nbuiltin = 'naive'\nsource = 'x.cpp'\n"), "needs either 'source' or 'builtin'"));
  CHECK(contains(refused("", "[baselines.B]\nbuiltin = 'naive'\n"), "'B' can't name a baseline"));

  CHECK(contains(loaded(files.path() / "none.toml"), "there is no such file"));
  CHECK(contains(loaded(files.path()), "is a folder"));
  files.write("latin.toml", "# caf\xE9\n");
  CHECK(contains(loaded(files.path() / "latin.toml"), "latin.toml:1:6: not UTF-8 text"));
  files.write("secret.toml", "name = \"p\"\n");
  if (::geteuid() != 0) {
    REQUIRE(::chmod((files.path() / "secret.toml").c_str(), 0) == 0);
    CHECK(contains(loaded(files.path() / "secret.toml"), "can't be read: Permission denied"));
  }
}
