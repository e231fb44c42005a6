// One strip of vector code: nodes of statements as RISC-V vector intrinsics on float, written line by line. What doesn't depend on the
// vector index stays a scalar of C.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agents/synthesis/source_writer.hpp"
#include "agents/synthesis/vector_c/c_scalar.hpp"

namespace kernsmith::agents::vector_c {

/// Does the value of `node` depend on `variable`?
[[nodiscard]] bool depends_on(const statement& s, int node, int variable);

/// Can everything under `node` that depends on `inner` be computed on vectors of float: known operations, loads that walk memory by one as
/// `inner` does?
[[nodiscard]] bool vectorises(const tensor_ir& ir, const statement& s, int node, int inner);

/// A value in a strip: a vector variable, or scalar C.
struct operand {
  bool vector = false;
  std::string text;
};

/// Names of types and intrinsics for groups of `group` registers.
struct vector_names {
  std::int64_t group = 1;
  [[nodiscard]] std::string type() const;
  [[nodiscard]] std::string mask_type() const;
  [[nodiscard]] std::string f() const;     ///< "f32m4"
  [[nodiscard]] std::string mask() const;  ///< "b8"
};

/// Writes to `out`; equal operations of one strip are written once.
class strip {
 public:
  /// `exp_degree` chooses the polynomial; `fresh` numbers variables and outlives the strip; vl is in scope as "vl".
  strip(const tensor_ir& ir, source_writer& out, vector_names names, std::int64_t exp_degree, int& fresh, std::set<std::string>& preludes)
      : ir_(ir), out_(out), names_(names), exp_degree_(exp_degree), fresh_(fresh), preludes_(preludes) {}

  /// What a load of a tensor gives that doesn't come from memory; nothing: load it.
  using source = std::function<std::optional<operand>(const expression& load)>;

  /// The value of `node`, whose vector index is `inner` and stands as `at` in C.
  [[nodiscard]] operand value(const statement& s, int node, int inner, const std::string& at, const source& from);
  /// The same as a vector, whatever it is.
  [[nodiscard]] std::string vector(const operand& o);
  /// A new vector variable for `text`, or the one that holds it already.
  [[nodiscard]] std::string keep(const std::string& text);
  [[nodiscard]] const vector_names& names() const { return names_; }

 private:
  struct context {
    const statement& s;
    int inner;
    const std::string& at;
    const source& from;
  };
  [[nodiscard]] operand render(const context& c, int node);
  [[nodiscard]] operand call(const context& c, const expression& e);
  [[nodiscard]] operand binary(const char* name, const char* reversed, const operand& a, const operand& b, bool commutes);
  [[nodiscard]] operand extremum(bool larger, const operand& first, const operand& second);
  [[nodiscard]] std::string mask(const context& c, int node);
  [[nodiscard]] std::string keep_as(const std::string& type, const std::string& text);
  [[nodiscard]] std::string f(const std::string& name) const { return name + "_" + names_.f(); }

  const tensor_ir& ir_;
  source_writer& out_;
  vector_names names_;
  std::int64_t exp_degree_;
  int& fresh_;
  std::set<std::string>& preludes_;
  std::map<std::string, std::string> kept_;  ///< text -> variable
};

}  // namespace kernsmith::agents::vector_c
