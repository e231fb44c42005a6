// A fusion group as a "row program": what the row grammar decides about and emits from. Indices of all its statements are unified into
// classes; some of them (the parallel ones) number the independent pieces of work ("rows"), the others are swept over inside each piece.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/synthesis/group_grammar.hpp"

namespace kernsmith::agents::row {

/// An extent as a product: constant * axes. Collapsed indices range over the product of what they were made of.
struct extent {
  std::int64_t constant = 1;
  std::vector<int> axes;  ///< sorted
  friend bool operator==(const extent&, const extent&) = default;
};

struct index_class {
  std::string name;
  extent size;
  bool alive = true;  ///< false once merged into its neighbour
};

/// What a statement is relative to the parallel indices P.
enum class role : std::uint8_t {
  point,   ///< a map over P (or fewer): one value per row
  map,     ///< a map over more than P: evaluated inside sweeps, wherever its value is needed
  nested,  ///< a reduction over more than P: a serial loop inside a sweep
  reduce,  ///< a reduction to P: finished by one sweep
  scan,    ///< a running reduction along the one swept index
};

struct row_statement {
  int id = -1;                    ///< position in tensor_ir::statements
  int tensor = -1;                ///< what it writes
  std::vector<int> target;        ///< class per dimension of the target
  std::vector<expression> nodes;  ///< variables replaced by classes, in indices, index nodes and bounds
  int value = -1;                 ///< root node of a map; argument of the reduce or scan
  role kind = role::map;
  reduction reducer = reduction::sum;
  value_class type = value_class::real;  ///< of the statement's value
  std::vector<int> bound;                ///< classes reduced or scanned
  std::vector<int> swept;                ///< free classes that aren't parallel, in target order
  bool stored = false;                   ///< needs memory: an output, or read outside the group
  std::string text;                      ///< as written
};

/// Names inside the emitted functions: the problem's own, changed where they would hide a name of the functions' vocabulary.
struct local_names {
  std::vector<std::string> tensors;  ///< per tensor of the IR
  std::vector<std::string> stems;    ///< per tensor: what the names of derived values begin with; "<stem>_..." is nobody else's name
  std::vector<std::string> axes;
};

/// A count of borders at or below (strict: below) a value, see row_grammar_search.hpp.
struct counted_search {
  int statement = -1;
  int borders = -1;      ///< tensor
  int count_class = -1;  ///< the index that is counted over
  int value = -1;        ///< node of what is compared with the borders
  bool strict = false;
};

struct row_program {
  const tensor_ir* ir = nullptr;
  std::string name;
  std::vector<index_class> classes;
  std::vector<std::vector<extent>> shapes;  ///< per tensor of the IR, collapsed like the classes
  std::vector<row_statement> statements;
  std::vector<int> writer;  ///< per tensor: position in `statements`, or -1
  local_names names;
  std::vector<int> parallel;             ///< classes, outermost first
  std::optional<counted_search> search;  ///< set when that statement is computed by search
  bool wide = false;                     ///< computed in double / int64 lanes instead of float / int32

  [[nodiscard]] const tensor_declaration& tensor(int id) const { return ir->tensors[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const std::vector<extent>& shape(int id) const { return shapes[static_cast<std::size_t>(id)]; }
  [[nodiscard]] bool is_parallel(int index) const;
  /// Position of the statement of this group that writes `tensor`, or -1.
  [[nodiscard]] int written_by(int tensor) const { return writer[static_cast<std::size_t>(tensor)]; }
  /// Largest extent of a class over the workloads (at least 1).
  [[nodiscard]] std::int64_t typical(int index) const;
  /// The one extent that the class has in every workload, or 0.
  [[nodiscard]] std::int64_t common_extent(int index) const;
};

/// nullopt when the group isn't a row program that can be emitted right in every legal case.
[[nodiscard]] std::optional<row_program> analyse(const tensor_ir& ir, const fusion_group& group);

/// Merges neighbouring indices that every access of the group walks together, so that short inner extents don't cut vectors short.
void collapse_indices(row_program& p);

/// Calls visit(node id) for every node under `node`, children first; indices of loads included.
template <class F>
void walk(const row_statement& s, int node, F&& visit) {
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  for (const int argument : e.arguments) walk(s, argument, visit);
  for (const index_expression& position : e.indices)
    if (!position.is_affine) walk(s, position.gather, visit);
  visit(node);
}

/// How an index class takes part in the address of a load.
enum class access : std::uint8_t {
  absent,      ///< same address for all values of the class
  contiguous,  ///< neighbours in memory
  strided,     ///< affine, not neighbours
  indirect,    ///< through a gather
};
[[nodiscard]] access access_of(const row_program& p, const row_statement& s, const expression& load, int index);

/// Does the value of `node` depend on the class (through tensors of the group as well)?
[[nodiscard]] bool depends_on(const row_program& p, const row_statement& s, int node, int index);

/// Can `load` fall outside its tensor? (Only tensors with a pad may.)
[[nodiscard]] bool needs_bounds(const row_program& p, const expression& load, std::size_t dimension);

}  // namespace kernsmith::agents::row
