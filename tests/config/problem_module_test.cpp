// [module]: the PyTorch module that a problem was made from.
#include "tests/config/draft.hpp"
#include "tests/config/folder.hpp"

using namespace kernsmith;
using namespace kernsmith::test;

namespace {

const char* const table =
    "[module]\nsource = 'm.py'\narguments = ['x', 0.5, 3]\nparameters = { w = 'fc.weight' }\nconstants = { N = 'width' }\n";

/// What loading y = x * w with this [module] says.
result<problem> with_module(const folder& place, const std::string& module) {
  place.write("m.py", "class Model:\n  pass\n");
  place.write("p.toml",
              draft("N = 4", {{"x", "N", "f32", ""}, {"w", "N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = x[i] * w[i]", module));
  return load_problem(place.path() / "p.toml");
}

std::string refused(const std::string& module) {
  const folder place;
  const auto p = with_module(place, module);
  return p ? "" : p.error().message;
}

}  // namespace

TEST_CASE("a module's table is read whole") {
  const folder place;
  const auto p = with_module(place, table);
  REQUIRE_MESSAGE(p.has_value(), (p ? "" : p.error().message));
  REQUIRE(p->module.has_value());
  const module_spec& m = *p->module;
  CHECK(m.source.language == "python");
  REQUIRE(m.arguments.size() == 3);
  CHECK(m.arguments[0].input == "x");
  CHECK(m.arguments[1].number == 0.5);
  CHECK_FALSE(m.arguments[1].is_integer);
  CHECK(m.arguments[2].is_integer);
  CHECK(m.parameters.at("w") == "fc.weight");
  CHECK(m.constants.at("N") == "width");
  CHECK(m.outputs == std::vector<std::string>{"y"});
}

TEST_CASE("a module is part of what a problem means") {
  const folder place;
  const auto with = with_module(place, table), without = with_module(place, "");
  REQUIRE(with.has_value());
  REQUIRE(without.has_value());
  CHECK(with->hash != without->hash);
}

TEST_CASE("what forward gives in another shape") {
  const folder place;
  const auto p = with_module(place, std::string(table) + "shapes = { y = [2, 2] }\n");
  REQUIRE_MESSAGE(p.has_value(), (p ? "" : p.error().message));
  CHECK(p->module->shapes.at("y") == std::vector<dim>{{-1, 2}, {-1, 2}});
}

TEST_CASE("constants that were given another value are part of the meaning") {
  const folder place;
  const auto plain = with_module(place, table);
  const auto given = with_module(place, std::string(table) + "overrides = { height = 64 }\n");
  REQUIRE_MESSAGE(given.has_value(), (given ? "" : given.error().message));
  CHECK(given->module->overrides.at("height") == 64);
  CHECK(given->hash != plain->hash);
}

TEST_CASE("a module that does not fit its problem is refused at the place") {
  CHECK(contains(refused("[module]\nsource = 'm.py'\narguments = ['x']\n"), "the module never gets input 'w'"));
  CHECK(contains(refused("[module]\nsource = 'm.py'\narguments = ['x', 'w']\nparameters = { w = 'k' }\n"), "gets input 'w' twice"));
  CHECK(contains(refused("[module]\nsource = 'm.py'\narguments = ['z', 'w']\n"), ":15:14: 'z' is no input of this problem"));
  CHECK(contains(refused("[module]\nsource = 'm.py'\narguments = ['x', 'w']\nconstants = { M = 'm' }\n"), "'M' is no axis"));
  CHECK(contains(refused("[module]\nsource = 'm.py'\narguments = ['x', 'w']\noutputs = []\n"), "must name every output"));
  CHECK(contains(refused("[module]\nsource = 'm.py'\narguments = ['x', 'w']\nshapes = { y = ['N', 2] }\n"), "another number of elements"));
  CHECK(contains(refused("[module]\nsource = 'none.py'\narguments = ['x', 'w']\n"), "does not exist"));
}

TEST_CASE("torch.compile has modes, other baselines have none") {
  const folder place;
  const auto p = with_module(place, std::string(table) + "[baselines.c]\nbuiltin = 'torch.compile'\nmode = 'max-autotune'\n");
  REQUIRE_MESSAGE(p.has_value(), (p ? "" : p.error().message));
  CHECK(p->baselines.front().builtin == "torch.compile max-autotune");
  CHECK(contains(refused(std::string(table) + "[baselines.c]\nbuiltin = 'pytorch'\nmode = 'x'\n"), "'mode' belongs to builtin"));
}
