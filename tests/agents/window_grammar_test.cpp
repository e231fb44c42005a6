// Emitted convolutions and poolings against the interpreter.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "support.hpp"

namespace kernsmith::agents {
namespace {

using shapes = std::vector<std::vector<std::int64_t>>;

void check_fused(const problem& p, const shapes& all, int random_count, std::uint64_t seed = 1) {
  const auto g = testing::generator_with(p, make_window_grammar());
  CHECK(testing::grammars_of(*g) == std::vector<std::string>{"window"});
  testing::run_options options;
  options.seed = seed;
  options.allowed = {2e-4, 2e-4};
  testing::check_generator(p, *g, all, random_count, options);
}

std::string tensors(const std::string& axes, const std::vector<std::string>& lines) {
  std::string text = "[axes]\n" + axes + "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string input(const std::string& name, const std::string& shape, const std::string& more = "", const std::string& type = "f32") {
  return fmt::format("[inputs.{}]\nshape = [{}]\ndtype = \"{}\"\n{}", name, shape, type, more);
}

std::string output(const std::string& name, const std::string& shape, const std::string& type = "f32") {
  return fmt::format("[outputs.{}]\nshape = [{}]\ndtype = \"{}\"", name, shape, type);
}

std::string inner(const std::string& name, const std::string& shape) {
  return fmt::format("[intermediates.{}]\nshape = [{}]", name, shape);
}

TEST_CASE("window: padded convolution with bias and ReLU, as loops and as a matrix product") {
  const problem p =
      testing::problem_from(tensors("B = 2\nC = 3\nO = 16\nH = 8\nW = 9",
                                    {input("x", R"("B", "C", "H", "W")", "pad = 0.0"), input("w", R"("O", "C", 3, 3)"),
                                     input("bias", "\"O\""), inner("c", R"("B", "O", "H", "W")"), output("y", R"("B", "O", "H", "W")")}),
                            "c[n,o,p,q] = sum(i, r, s: x[n,i,p+r-1,q+s-1] * w[o,i,r,s])\ny[n,o,p,q] = max(c[n,o,p,q] + bias[o], 0)");
  check_fused(p, {{1, 1, 1, 1, 1}, {2, 3, 16, 8, 9}, {1, 5, 7, 6, 40}, {2, 4, 13, 3, 70}}, 8);
}

TEST_CASE("window: strided depthwise convolution") {
  const problem p = testing::problem_from(
      tensors("B = 2\nC = 3\nP = 8\nQ = 9",
              {input("x", R"("B", "C", 20, 101)", "pad = 0.0"), input("w", R"("C", 3, 3)"), output("y", R"("B", "C", "P", "Q")")}),
      "y[n,c,p,q] = sum(r, s: x[n,c,2*p+r-1,2*q+s-1] * w[c,r,s])");
  check_fused(p, {{1, 1, 1, 1}, {2, 3, 9, 50}, {1, 2, 12, 33}}, 4);
}

TEST_CASE("window: causal convolution along time, cut when there are few rows") {
  const problem p =
      testing::problem_from(tensors("B = 2\nD = 3\nT = 64", {input("x", R"("B", "D", "T")", "pad = 0.0"), input("w", R"("D", 4)"),
                                                             inner("s", R"("B", "D", "T")"), output("y", R"("B", "D", "T")")}),
                            "s[b,d,t] = sum(k: w[d,k] * x[b,d,t+k-3])\ny[b,d,t] = s[b,d,t] * sigmoid(s[b,d,t])");
  check_fused(p, {{1, 1, 1}, {1, 1, 2}, {1, 1, 333}, {2, 3, 64}, {1, 5, 17}}, 4);
}

TEST_CASE("window: max and average pooling") {
  const problem largest = testing::problem_from(
      tensors("B = 2\nC = 3\nP = 4\nQ = 9", {input("x", R"("B", "C", 15, 75)", "pad = -inf"), output("y", R"("B", "C", "P", "Q")")}),
      "y[n,c,p,q] = max(r < 3, s < 3: x[n,c,2*p+r-1,2*q+s-1])");
  check_fused(largest, {{1, 1, 1, 1}, {2, 3, 7, 37}, {1, 2, 5, 16}}, 3);
  const problem mean = testing::problem_from(
      tensors("B = 2\nC = 3\nP = 4\nQ = 9",
              {input("x", R"("B", "C", 14, 73)"), inner("t", R"("B", "C", "P", "Q")"), output("y", R"("B", "C", "P", "Q")")}),
      "t[n,c,p,q] = sum(r < 2, s < 2: x[n,c,2*p+r,2*q+s])\ny[n,c,p,q] = t[n,c,p,q] / 4");
  check_fused(mean, {{1, 1, 1, 1}, {2, 3, 7, 36}, {1, 2, 5, 17}}, 3);
}

void check_channels(const problem& p, const shapes& all, const std::string& group = "y") {
  const auto g = testing::generator_with(p, make_window_grammar());
  const auto& decisions = g->space().decisions;
  const auto form = std::find_if(decisions.begin(), decisions.end(), [&](const decision& d) { return d.name == group + ".form"; });
  REQUIRE(form != decisions.end());
  REQUIRE(std::find(form->labels.begin(), form->labels.end(), "channels") != form->labels.end());
  testing::run_options options;
  options.allowed = {2e-4, 2e-4};
  for (const auto& [vectors, points] : {std::pair(1, 8), std::pair(4, 6), std::pair(2, 5)}) {
    assignment wanted = preferred_assignment(g->space());
    wanted[group + ".form"] = 2, wanted[group + ".channel_vectors"] = vectors, wanted[group + ".points"] = points;
    const auto made = g->generate(wanted);
    REQUIRE(made);
    CHECK(made->source.find("CHANNELS = NV * LANES") != std::string::npos);
    for (const char* march : {"native", "x86-64-v3"}) {
      const auto library = testing::compile_kernel(made->source, march);
      REQUIRE_MESSAGE(library, library.error().message);
      for (const auto& axes : all) CHECK(testing::check_kernel(p, *library, axes, options) == "");
    }
  }
}

TEST_CASE("window: lanes along the channels of strided, grouped and one- and three-dimensional convolutions") {
  check_channels(testing::problem_from(tensors("B = 2\nC = 3\nO = 16\nH = 8\nW = 9",
                                               {input("x", R"("B", "C", 20, 19)", "pad = 0.0"), input("w", R"("O", "C", 5, 3)"),
                                                input("bias", "\"O\""), output("y", R"("B", "O", "H", "W")")}),
                                       "y[n,o,p,q] = max(sum(i, r, s: x[n,i,2*p+r-2,2*q+s-1] * w[o,i,r,s]) + bias[o], 0)"),
                 {{1, 1, 1, 1, 1}, {2, 3, 16, 8, 9}, {1, 2, 37, 9, 10}, {1, 4, 70, 3, 6}});
  check_channels(testing::problem_from(
                     tensors("B = 2\nG = 3\nO = 20\nT = 30", {input("x", R"("B", "G", 4, "T")", "pad = 1.5"),
                                                              input("w", R"("G", "O", 4, 3)"), output("y", R"("B", "G", "O", "T")")}),
                     "y[n,g,o,q] = sum(i, s: x[n,g,i,q+2*s-2] * w[g,o,i,s])"),
                 {{2, 3, 20, 30}, {1, 1, 1, 1}, {1, 2, 33, 4}});
  check_channels(testing::problem_from(tensors("B = 1\nO = 20\nW = 11",
                                               {input("x", R"("B", 3, 4, 5, "W")", "pad = 0.0", "bf16"),
                                                input("w", R"("O", 3, 2, 3, 3)", "", "f16"), output("y", R"("B", "O", 3, 5, "W")", "f32")}),
                                       "y[n,o,d,h,q] = sum(i, z, r, s: x[n,i,d+z,h+r-1,q+s-1] * w[o,i,z,r,s])"),
                 {{1, 20, 11}, {2, 3, 1}, {1, 17, 25}});
}

}  // namespace
}  // namespace kernsmith::agents
