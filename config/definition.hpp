// The tensor definition language after parsing and resolution: what a problem computes, as data.
// The resolver (definition_resolver.hpp) guarantees every invariant stated here; readers need not re-check.
//
// Semantics (interpreter.cpp is their plainest form):
//  - real arithmetic is float64, integer arithmetic int64 and wraps; `/` is always real; an operation on integers and reals is real.
//  - A comparison gives a boolean, which is the integer 0 or 1 in arithmetic. Comparisons with NaN are false, except !=. Conditions (and,
//  or, not, select, any, all)
//    are booleans or integers (0 is false).
//  - sum, prod, max, min over integers or booleans are integers; any and all are boolean; argmax and argmin give the lowest position on
//  ties, row-major over their
//    indices. max and min, of two values or as reductions, give NaN if any operand is NaN.
//  - A cast rounds to nearest even for floats; for integers it truncates and saturates (NaN becomes 0), also from a wider integer; bool(x)
//  is x != 0. round() is to even.
//  - Scans are inclusive and run along a free index: within the scan's body that index takes the values 0..its own value outside.
//  - A load outside of its tensor gives the tensor's pad. Without pad no load can fall outside (check_axes proves it), whatever select
//  chooses.
//  - A position that is a sole index (sole_index) never falls outside: the index has exactly the extent of that dimension.
//  - Values of intermediates are rounded (integers: wrapped) only where a dtype is declared; outputs read by later statements are not
//  rounded.
//  - A real expression can't be stored into an integer or bool tensor without a cast, nor an integer one into bool; booleans are stored as
//  0 and 1.
//  - An index ranges over the dimension it stands alone in: of the target, where its shape is declared, and of every load; or over a stated
//  range, "sum(r < R: ...)". A sum says nothing about ranges: "x[i + 0]" reads as many elements as i has values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/dtype.hpp"

namespace kernsmith {

/// Where something stands in a user's file. Lines and columns count from 1; 0 means unknown.
struct source_place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// One extent of a shape: an axis of the problem, or a literal.
struct dim {
  int axis = -1;              ///< index into problem::axes, or -1
  std::int64_t constant = 0;  ///< the extent when axis < 0
  friend bool operator==(const dim&, const dim&) = default;
};

/// coefficient * product(axes) * index; `index` -1 for a term without an index variable.
struct affine_term {
  std::int64_t coefficient = 1;
  std::vector<int> axes;  ///< indices into problem::axes, sorted, with repetition
  int index = -1;         ///< index into statement::variables
  friend bool operator==(const affine_term&, const affine_term&) = default;
};

/// One position of a load: affine, or a gather (an integer-valued expression that contains a load).
struct index_expression {
  bool is_affine = true;
  std::int64_t constant = 0;
  std::vector<affine_term> terms;  ///< normalised: sorted by (index, axes), no zero coefficients
  int gather = -1;                 ///< node id in statement::nodes when !is_affine
  /// Exactly one index, whose range is not the dimension's: "x[i + 0]" reads the first elements. Never a sole_index().
  bool partial = false;
  friend bool operator==(const index_expression&, const index_expression&) = default;
};

/// "x[b]" position that is exactly one index variable, ranging over the whole dimension: returns it, else -1.
[[nodiscard]] int sole_index(const index_expression& position);

enum class expression_kind : std::uint8_t {
  number,  ///< literal; `number` (and `integer` when written without point or exponent)
  index,   ///< value of an index variable; `symbol` -> statement::variables
  axis,    ///< extent of an axis; `symbol` -> problem::axes
  load,    ///< element of a tensor; `symbol` -> problem::tensors, `indices` one per dimension
  call,    ///< `operation` applied to `arguments`
  cast,    ///< arguments[0] rounded (floats) or truncated and saturated (integers) to `cast_to`
  reduce,  ///< `reduction` of arguments[0] over the variables in `bound`
  scan,    ///< running `reduction` (sum, prod, max, min) of arguments[0] along the one variable in `bound`, inclusive
};

enum class operation : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  negate,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
  logical_not,
  select,  ///< select(condition, if_true, if_false)
  minimum,
  maximum,
  absolute,
  exp,
  log,
  log1p,
  expm1,
  sqrt,
  rsqrt,
  pow,
  tanh,
  erf,
  sigmoid,
  sin,
  cos,
  floor,
  ceil,
  round,  ///< round: half to even
  fma,
};

enum class reduction : std::uint8_t { sum, max, min, prod, any, all, argmax, argmin };

/// What arithmetic an expression's value lives in. The reference evaluates real in float64 and integer in int64;
/// `/` always yields real; mixing integer and real yields real.
enum class value_class : std::uint8_t { real, integer, boolean };

struct expression {
  expression_kind kind = expression_kind::number;
  value_class type = value_class::real;
  operation op = operation::add;
  reduction reducer = reduction::sum;
  dtype cast_to = dtype::f32;
  double number = 0;
  std::int64_t integer = 0;
  int symbol = -1;
  std::vector<int> arguments;             ///< node ids; children stand before their parents
  std::vector<index_expression> indices;  ///< for loads
  std::vector<int> bound;                 ///< variables bound by reduce / scan
  source_place place;
};

struct index_variable {
  std::string name;   ///< unique within the statement: a second reduction over k gets k_2
  dim extent;         ///< ranges over [0, extent)
  bool free = false;  ///< stands on the left-hand side
};

/// `target[variables...] = nodes[root]`. Statements are in order; each tensor is written by exactly one statement
/// and read only by later ones.
struct statement {
  int target = -1;                  ///< problem::tensors id (output or intermediate)
  std::vector<int> target_indices;  ///< distinct free variables, one per dimension of the target
  std::vector<index_variable> variables;
  std::vector<expression> nodes;
  int root = -1;
  source_place place;
  std::string text;  ///< as written, on one line, without comments: for comments in emitted source
};

}  // namespace kernsmith
