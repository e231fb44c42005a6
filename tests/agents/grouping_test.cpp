// Which statements end up in one loop nest, and what can be decided about it: seen through grammars that accept what the test says.
#include "agents/synthesis/grouping.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>

#include "support.hpp"

namespace kernsmith::agents::testing {
namespace {

using predicate = std::function<bool(const tensor_ir&, const fusion_group&)>;

/// Accepts what `accepts` says and computes its statements one after the other by plain loops.
class chain_grammar final : public group_grammar {
 public:
  chain_grammar(std::string name, predicate accepts) : name_(std::move(name)), accepts_(std::move(accepts)), plain_(make_plain_grammar()) {}
  std::string_view name() const override { return name_; }
  bool accepts(const tensor_ir& ir, const fusion_group& group) const override { return accepts_(ir, group); }
  std::vector<decision> decisions(const tensor_ir&, const fusion_group& group, const machine_model&) const override {
    return {{group.name + ".block", {1, 2, 4}, {}, 1, 1.0, "nothing"}};
  }
  void normalise(const tensor_ir&, const fusion_group& group, const machine_model&, assignment& chosen) const override {
    if (chosen.at(group.name + ".block") == 4) chosen[group.name + ".block"] = 1;
  }
  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model& machine, const assignment&) const override {
    emitted_group all;
    for (const int id : group.statements) {
      const fusion_group one{fmt::format("{}_{}", group.name, id), {id}};
      const emitted_group part = plain_->emit(ir, one, machine, {{one.name + ".threads", 1}});
      all.functions += part.functions;
      all.call += part.call;
      all.preludes.insert(part.preludes.begin(), part.preludes.end());
      all.stored.insert(all.stored.end(), part.stored.begin(), part.stored.end());
    }
    return all;
  }

 private:
  std::string name_;
  predicate accepts_;
  std::unique_ptr<group_grammar> plain_;
};

bool all_of_class(const tensor_ir& ir, const fusion_group& group, std::initializer_list<op_class> allowed) {
  return std::all_of(group.statements.begin(), group.statements.end(), [&](int id) {
    return std::find(allowed.begin(), allowed.end(), ir.classes[static_cast<std::size_t>(id)]) != allowed.end();
  });
}

/// "contraction": one contraction with maps around it; "row": maps and reductions.
std::unique_ptr<rules_generator> generator_of(const problem& p) {
  grammar_list grammars;
  grammars.push_back(std::make_unique<chain_grammar>("contraction", [](const tensor_ir& ir, const fusion_group& group) {
    const auto is_contraction = [&](int id) { return ir.classes[static_cast<std::size_t>(id)] == op_class::contraction; };
    return all_of_class(ir, group, {op_class::map, op_class::contraction}) &&
           std::count_if(group.statements.begin(), group.statements.end(), is_contraction) == 1;
  }));
  grammars.push_back(std::make_unique<chain_grammar>("row", [](const tensor_ir& ir, const fusion_group& group) {
    return all_of_class(ir, group, {op_class::map, op_class::reduction, op_class::contraction});
  }));
  grammars.push_back(make_plain_grammar());
  result<std::unique_ptr<rules_generator>> made = make_rules_generator(p, small_machine(), std::move(grammars));
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}

/// "row(m e s y) contraction(z)" of one way through the runs.
std::string shape_of_groups(const rules_generator& g, std::size_t way = 0) {
  std::string text;
  const grouping& groups = g.groups();
  for (const planned_run& run : groups.runs) {
    for (const planned_group& planned : run.ways[std::min(way, run.ways.size() - 1)]) {
      text += fmt::format("{}{}(", text.empty() ? "" : " ", planned.grammar->name());
      for (std::size_t i = 0; i < planned.group.statements.size(); ++i) {
        const statement& s = groups.ir.statements[static_cast<std::size_t>(planned.group.statements[i])];
        text += (i == 0 ? "" : " ") + groups.ir.tensors[static_cast<std::size_t>(s.target)].name;
      }
      text += ")";
    }
  }
  return text;
}

problem softmax() {
  return small_problem("B=4 N=8", "in x f32[B,N]\nout y f32[B,N]",
                       "m[b] = max(n: x[b,n])\ne[b,n] = exp(x[b,n] - m[b])\ns[b] = sum(n: e[b,n])\ny[b,n] = e[b,n] / s[b]");
}

problem linear() {
  return small_problem("M=6 K=5 N=7", "in a f32[M,K]\nin g f32[K]\nin w f32[N,K]\nin b f32[N]\nout y f32[M,N]",
                       "h[m,k] = tanh(a[m,k]) * g[k]\nc[m,n] = sum(k: h[m,k] * w[n,k])\ny[m,n] = max(c[m,n] + b[n], 0)");
}

TEST_CASE("a chain that a grammar accepts is one group, and leaves no notes") {
  const auto g = generator_of(softmax());
  CHECK(shape_of_groups(*g) == "row(m e s y)");
  CHECK(g->generate({})->notes.empty());
  CHECK(g->space().decisions.size() == 1);
}

TEST_CASE("what is computed ahead of a contraction may be stored instead") {
  const auto g = generator_of(linear());
  CHECK(shape_of_groups(*g) == "contraction(h c y)");
  CHECK(shape_of_groups(*g, 1) == "row(h) contraction(c y)");
  const assignment fused = g->normalise({{"y.block", 4}, {"h.block", 4}, {"y_apart.block", 1}});
  CHECK(fused ==
        assignment{
            {"y.fuse", 1}, {"y.block", 1}, {"h.block", 2}, {"y_apart.block", 2}});  // 2: the preferred value of groups that aren't built
  const assignment apart = g->normalise({{"y.fuse", 0}, {"y.block", 4}, {"h.block", 4}, {"y_apart.block", 4}});
  CHECK(apart == assignment{{"y.fuse", 0}, {"y.block", 2}, {"h.block", 1}, {"y_apart.block", 1}});
  CHECK(g->generate(fused)->source != g->generate(apart)->source);
  check_generator(linear(), *g, {{6, 5, 7}, {1, 1, 1}}, 2);
}

TEST_CASE("a matrix product goes to no row group, but a matrix-vector product may") {
  const problem product =
      small_problem("M=4 K=5 N=6", "in a f32[M,K]\nin w f32[K,N]\nout y f32[M]", "c[m,n] = sum(k: a[m,k] * w[k,n])\ny[m] = max(n: c[m,n])");
  CHECK(shape_of_groups(*generator_of(product)) == "contraction(c) row(y)");
  const problem vector =
      small_problem("M=4 K=5", "in a f32[M,K]\nin w f32[K]\nout y f32[1]", "c[m] = sum(k: a[m,k] * w[k])\ny[o] = max(m: c[m])");
  CHECK(shape_of_groups(*generator_of(vector)) == "row(c y)");
}

TEST_CASE("statements move next to what they read when that saves traffic") {
  const problem p = small_problem("B=4 N=8", "in x f32[B,N]\nout y f32[B,N]\nout z f32[B,N]",
                                  "m[b] = max(n: x[b,n])\nz[b,n] = cumsum(n: x[b,n])\ny[b,n] = x[b,n] - m[b]");
  const auto g = generator_of(p);
  CHECK(shape_of_groups(*g) == "plain(z) row(m y)");
  check_generator(p, *g, {{4, 8}}, 1);
}

TEST_CASE("what could not be fused is said") {
  const problem p = small_problem("B=4 N=8", "in x f32[B,N]\nout y f32[B,N]", "s[b,n] = cumsum(n: x[b,n])\ny[b,n] = s[b,n] * 2");
  const auto g = generator_of(p);
  CHECK(shape_of_groups(*g) == "plain(s) row(y)");
  CHECK(g->generate({})->notes ==
        std::vector<std::string>{"the grammar has no schedule for 's[b,n] = cumsum(n: x[b,n])': it is computed by plain parallel loops",
                                 "the grammar could not fuse 's' with 'y': it goes through memory"});
}

TEST_CASE("the source says what it is made of") {
  const result<proposal> made = generator_of(linear())->generate({});
  REQUIRE(made.has_value());
  const std::string& source = made->source;
  CHECK(source.starts_with("// test: generated by Kernsmith's rules synthesizer for cpp/x86-64-v"));
  CHECK(source.find("//   c[m,n] = sum(k: h[m,k] * w[n,k])\n") != std::string::npos);
  CHECK(source.find("//   y.fuse=yes y.block=2\n") != std::string::npos);
  CHECK(source.find("extern \"C\" int launch(") != std::string::npos);
  CHECK(made->rationale == "y: one contraction loop nest computes h, c, y [y.fuse=yes y.block=2].");
  CHECK(made->decisions == generator_of(linear())->normalise({}));
}

TEST_CASE("equal assignments give equal sources") {
  const auto g = generator_of(linear());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const assignment chosen = random_assignment(*g, seed);
    CHECK(g->normalise(chosen) == chosen);
    CHECK(g->generate(chosen)->decisions == chosen);
    CHECK(g->generate(chosen)->source == generator_of(linear())->generate(chosen)->source);
  }
}

}  // namespace
}  // namespace kernsmith::agents::testing
