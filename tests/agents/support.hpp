// Compiles what generators emit, runs it in a child process and compares it with the interpreter of definitions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "agents/synthesis/rules_generator.hpp"
#include "agents/synthesis/rules_grammar.hpp"
#include "config/problem.hpp"

namespace kernsmith::agents::testing {

/// Parses a problem file's text; a failing doctest REQUIRE when it is refused.
[[nodiscard]] problem problem_from(const std::string& toml);
/// A whole problem file from its parts: `tensors` holds the [axes], [inputs], [outputs] tables.
[[nodiscard]] problem problem_from(const std::string& tensors, const std::string& definition);

/// The same in short: axes "B=5 N=7"; tensors one a line, "in x f32[B,N] pad = 0.0", "out y f32[B]", "mid h bf16[B,N]" (what follows the
/// shape is TOML); then the definition.
[[nodiscard]] problem small_problem(const std::string& axes, const std::string& tensors, const std::string& definition);

/// A machine model of this host's ISA with two cores and small caches, so that small shapes meet all blockings.
[[nodiscard]] machine_model small_machine();

/// The path of the shared object (kept until the test program ends; equal source and flags compile once), or the compiler's first errors.
/// `march` as for g++: "native", "x86-64-v3".
[[nodiscard]] result<std::filesystem::path> compile_kernel(const std::string& source, const std::string& march = "native");

struct tolerance {
  double absolute = 0;  ///< both 0: by the output's dtype
  double relative = 0;
};

/// How to run one check.
struct run_options {
  std::uint64_t seed = 1;
  int threads = 2;
  tolerance allowed = {};
  bool special_values = false;  ///< sprinkle NaN, infinities and large values over float inputs
  bool give_workspace = false;  ///< hand the kernel 64 MiB of workspace
};

/// Runs `library` on random inputs of the shapes that `axes` gives (inits are honoured as far as ranges go) and compares all outputs with
/// the interpreter. Empty when all is well, else what went wrong: a crash, a refusal, a modified input, a write past the end, or the first
/// wrong element. The kernel runs in a forked child with guard pages behind every buffer.
[[nodiscard]] std::string check_kernel(const problem& p, const std::filesystem::path& library, const std::vector<std::int64_t>& axes,
                                       const run_options& options = {});

/// A random legal assignment of the space, normalised by the generator.
[[nodiscard]] assignment random_assignment(const generator& g, std::uint64_t seed);

/// doctest CHECKs that the preferred assignment and `random_count` random ones compile and are right for every entry of `shapes`.
void check_generator(const problem& p, const generator& g, const std::vector<std::vector<std::int64_t>>& shapes, int random_count,
                     const run_options& options = {});

/// The grammar that computes each group, in order: "row", "contraction", ...
[[nodiscard]] std::vector<std::string> grammars_of(const rules_generator& g);

/// A rules generator of the given grammar and, behind it, the plain one.
[[nodiscard]] std::unique_ptr<rules_generator> generator_with(const problem& p, std::unique_ptr<group_grammar> grammar,
                                                              const machine_model& machine = small_machine());

}  // namespace kernsmith::agents::testing
