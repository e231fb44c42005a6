// Pieces of C that emitted kernels are built on; each is put into a kernel only when a grammar asks for it.
//
// "scalar"       conversions of the floats that C lacks, saturation, maxima in which a NaN wins
// "rvv"          <riscv_vector.h>
// "exp6_m4" ...  exp of a group of (here) four vector registers, with a polynomial of degree 6 or 5
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kernsmith::agents::vector_c {

/// The text of `pieces`, each once, with what they depend on.
[[nodiscard]] std::string c_prelude_text(const std::set<std::string>& pieces);

/// The functions of "scalar" in what C and OpenCL C share: conversions, for which ks_float() and ks_bits() go between a float and its
/// bits, and the rest.
[[nodiscard]] std::string_view conversion_functions_text();
[[nodiscard]] std::string_view arithmetic_functions_text();

/// Name of the piece and of its function: "exp6_m4", "ks_exp6_m4".
[[nodiscard]] std::string exp_piece(std::int64_t degree, std::int64_t group);

}  // namespace kernsmith::agents::vector_c
