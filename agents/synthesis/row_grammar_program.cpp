#include "agents/synthesis/row_grammar_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "agents/synthesis/prelude.hpp"
#include "agents/synthesis/row_grammar_range.hpp"
#include "agents/synthesis/row_grammar_support.hpp"

namespace kernsmith::agents::row {
namespace {

extent extent_from(const dim& d) {
  if (d.axis >= 0) return {1, {d.axis}};
  return {d.constant, {}};
}

/// Union-find over (statement, variable) pairs of a group.
class unifier {
 public:
  explicit unifier(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int find(int item) {
    while (parent_[static_cast<std::size_t>(item)] != item) item = parent_[static_cast<std::size_t>(item)];
    return item;
  }
  void join(int a, int b) { parent_[static_cast<std::size_t>(find(std::max(a, b)))] = find(std::min(a, b)); }

 private:
  std::vector<int> parent_;
};

/// Builds a row_program step by step; every step returns false when the group can't be one.
class builder {
 public:
  builder(const tensor_ir& ir, const fusion_group& group) : ir_(ir), group_(group) {
    p_.ir = &ir;
    p_.name = group.name;
  }
  std::optional<row_program> build() {
    choose_names();
    if (!number_writers() || !unify() || !rename() || !place()) return std::nullopt;
    collapse_indices(p_);
    if (!check_nested() || !check_recompute() || !check_positions()) return std::nullopt;
    order_parallel();
    const std::optional<bool> wide = needs_wide_lanes(p_);
    if (!wide) return std::nullopt;
    p_.wide = *wide;
    return std::move(p_);
  }

 private:
  const statement& source(std::size_t position) const { return ir_.statements[static_cast<std::size_t>(group_.statements[position])]; }
  std::size_t count() const { return group_.statements.size(); }

  /// A trailing underscore tells the problem's names from the functions' vocabulary: the IR's names never end in one.
  void choose_names() {
    const std::set<std::string>& vocabulary = support_vocabulary();
    const auto local = [&](const std::string& name) { return vocabulary.contains(name) ? name + "_" : name; };
    std::set<std::string> all;
    for (const tensor_declaration& t : ir_.tensors) p_.names.tensors.push_back(local(t.name));
    for (const axis& a : ir_.axes) p_.names.axes.push_back(local(a.name));
    all.insert(p_.names.tensors.begin(), p_.names.tensors.end());
    all.insert(p_.names.axes.begin(), p_.names.axes.end());
    for (const tensor_declaration& t : ir_.tensors) {
      std::string stem = t.name;
      const auto clashes = [&] {
        return std::any_of(all.begin(), all.end(), [&](const std::string& other) { return other.starts_with(stem + "_"); }) ||
               std::any_of(vocabulary.begin(), vocabulary.end(), [&](const std::string& other) { return other.starts_with(stem + "_"); }) ||
               std::find(p_.names.stems.begin(), p_.names.stems.end(), stem) != p_.names.stems.end();
      };
      for (int number = 1; clashes(); ++number) stem = fmt::format("{}{}", t.name, number);
      p_.names.stems.push_back(stem);
    }
  }

  bool number_writers() {
    p_.writer.assign(ir_.tensors.size(), -1);
    for (std::size_t i = 0; i < count(); ++i) {
      p_.writer[static_cast<std::size_t>(source(i).target)] = static_cast<int>(i);
    }
    return count() > 0;
  }

  int slot(std::size_t position, int variable) const { return first_[position] + variable; }

  /// Unifies the indices with which a tensor of the group is written and read. Reads must be at plain indices.
  bool unify() {
    int total = 0;
    for (std::size_t i = 0; i < count(); ++i) {
      first_.push_back(total);
      total += static_cast<int>(source(i).variables.size());
    }
    unifier classes(static_cast<std::size_t>(total));
    for (std::size_t i = 0; i < count(); ++i)
      for (const expression& e : source(i).nodes) {
        if (e.kind != expression_kind::load || p_.written_by(e.symbol) < 0) continue;
        const std::size_t from = static_cast<std::size_t>(p_.written_by(e.symbol));
        for (std::size_t d = 0; d < e.indices.size(); ++d) {
          const int variable = sole_index(e.indices[d]);
          if (variable < 0) return false;
          if (source(i).variables[static_cast<std::size_t>(variable)].extent !=
              source(from).variables[static_cast<std::size_t>(source(from).target_indices[d])].extent)
            return false;
          classes.join(slot(i, variable), slot(from, source(from).target_indices[d]));
        }
      }
    join_unlinked(classes);
    if (!distinct_in_each_statement(classes)) return false;
    join_namesakes(classes);
    join_readers(classes);
    number_classes(classes);
    return true;
  }

  /// Statements that share no tensor (two outputs of the same shape) are walked together when their targets agree from the front.
  void join_unlinked(unifier& classes) {
    for (std::size_t i = 1; i < count(); ++i) {
      const statement &a = source(i - 1), &b = source(i);
      bool linked = false;
      for (const int va : a.target_indices)
        for (const int vb : b.target_indices) linked = linked || classes.find(slot(i - 1, va)) == classes.find(slot(i, vb));
      if (linked || a.target_indices.size() != b.target_indices.size()) continue;
      bool same = true;
      for (std::size_t d = 0; d < a.target_indices.size(); ++d)
        same = same && a.variables[static_cast<std::size_t>(a.target_indices[d])].extent ==
                           b.variables[static_cast<std::size_t>(b.target_indices[d])].extent;
      for (std::size_t d = 0; same && d < a.target_indices.size(); ++d)
        classes.join(slot(i - 1, a.target_indices[d]), slot(i, b.target_indices[d]));
    }
  }

  /// Indices of the same name and extent are one, unless a statement has both: sweeps over them can then be shared.
  void join_namesakes(unifier& classes) {
    for (std::size_t i = 1; i < count(); ++i)
      for (std::size_t v = 0; v < source(i).variables.size(); ++v)
        for (std::size_t j = 0; j < i; ++j)
          for (std::size_t w = 0; w < source(j).variables.size(); ++w) {
            const index_variable &a = source(i).variables[v], &b = source(j).variables[w];
            if (a.name != b.name || a.extent != b.extent) continue;
            unifier joined = classes;
            joined.join(slot(i, static_cast<int>(v)), slot(j, static_cast<int>(w)));
            if (distinct_in_each_statement(joined)) classes = joined;
          }
  }

  /// Indices at which two statements read one tensor are one, too, whatever their names: "x[r, i, s, u]" and "x[i, j, k, l]".
  void join_readers(unifier& classes) {
    for (std::size_t i = 1; i < count(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        for (const expression& a : source(i).nodes)
          for (const expression& b : source(j).nodes) {
            if (a.kind != expression_kind::load || b.kind != expression_kind::load || a.symbol != b.symbol) continue;
            for (std::size_t d = 0; d < a.indices.size(); ++d)
              join_place(classes, i, sole_index(a.indices[d]), j, sole_index(b.indices[d]));
          }
  }

  void join_place(unifier& classes, std::size_t i, int v, std::size_t j, int w) {
    if (v < 0 || w < 0) return;
    if (source(i).variables[static_cast<std::size_t>(v)].extent != source(j).variables[static_cast<std::size_t>(w)].extent) return;
    unifier joined = classes;
    joined.join(slot(i, v), slot(j, w));
    if (distinct_in_each_statement(joined)) classes = joined;
  }

  void number_classes(unifier& classes) {
    std::map<int, int> numbers;
    std::set<std::string> taken = support_vocabulary();
    for (const std::string& name : p_.names.tensors) taken.insert(name);
    for (const std::string& name : p_.names.axes) taken.insert(name);
    // "<stem>_..." is kept for derived values, of indices too.
    const auto is_free = [&](const std::string& name) {
      return !taken.contains(name) && std::none_of(taken.begin(), taken.end(), [&](const std::string& other) {
        return other.starts_with(name + "_") || name.starts_with(other + "_");
      });
    };
    for (std::size_t i = 0; i < count(); ++i)
      for (std::size_t v = 0; v < source(i).variables.size(); ++v) {
        const int root = classes.find(slot(i, static_cast<int>(v)));
        if (!numbers.contains(root)) {
          numbers[root] = static_cast<int>(p_.classes.size());
          std::string name = emitted_name(source(i).variables[v].name);
          std::string wanted = name;
          std::erase(wanted, '_');  // "n_2" beside "n" would stay "n_..." whatever its number
          for (int number = 1; !is_free(name); ++number) name = fmt::format("{}{}", wanted, number);
          taken.insert(name);
          p_.classes.push_back({name, extent_from(source(i).variables[v].extent), true});
        }
        class_of_.push_back(numbers[root]);
      }
  }

  bool distinct_in_each_statement(unifier& classes) const {
    for (std::size_t i = 0; i < count(); ++i) {
      std::set<int> seen;
      for (std::size_t v = 0; v < source(i).variables.size(); ++v)
        if (!seen.insert(classes.find(slot(i, static_cast<int>(v)))).second) return false;
    }
    return true;
  }

  /// Copies the statements with variables replaced by classes.
  bool rename() {
    for (const tensor_declaration& t : ir_.tensors) {
      p_.shapes.emplace_back();
      for (const dim& d : t.shape) p_.shapes.back().push_back(extent_from(d));
    }
    for (std::size_t i = 0; i < count(); ++i) {
      const statement& from = source(i);
      row_statement s;
      s.id = group_.statements[i];
      s.tensor = from.target;
      s.text = from.text;
      const auto renamed = [&](int variable) { return class_of_[static_cast<std::size_t>(slot(i, variable))]; };
      for (const int v : from.target_indices) s.target.push_back(renamed(v));
      s.nodes = from.nodes;
      for (expression& e : s.nodes) {
        if (e.kind == expression_kind::index) e.symbol = renamed(e.symbol);
        for (int& b : e.bound) b = renamed(b);
        for (index_expression& position : e.indices)
          for (affine_term& term : position.terms)
            if (term.index >= 0) term.index = renamed(term.index);
      }
      const expression& root = s.nodes[static_cast<std::size_t>(from.root)];
      s.value = from.root;
      s.type = root.type;
      if (root.kind == expression_kind::reduce || root.kind == expression_kind::scan) {
        s.value = root.arguments[0];
        s.reducer = root.reducer;
        s.bound = root.bound;
        s.kind = root.kind == expression_kind::scan ? role::scan : role::reduce;
      }
      s.stored = stored(from.target);
      p_.statements.push_back(std::move(s));
    }
    return true;
  }

  bool stored(int tensor) const {
    if (ir_.tensors[static_cast<std::size_t>(tensor)].role == tensor_role::output) return true;
    const std::vector<int> readers = ir_.consumers(tensor);
    if (readers.empty()) return false;
    return std::any_of(readers.begin(), readers.end(), [&](int reader) {
      return std::find(group_.statements.begin(), group_.statements.end(), reader) == group_.statements.end();
    });
  }

  /// Finds P: what all sinks (reductions, scans, stored maps) have free in common, and each statement's role.
  bool place() {
    bool first = true;
    for (const row_statement& s : p_.statements) {
      if (s.kind == role::map && !s.stored) continue;
      std::vector<int> free;
      for (const int c : s.target)
        if (std::find(s.bound.begin(), s.bound.end(), c) == s.bound.end()) free.push_back(c);
      if (first) {
        p_.parallel = free;
        first = false;
      } else {
        std::erase_if(p_.parallel, [&](int c) { return std::find(free.begin(), free.end(), c) == free.end(); });
      }
    }
    if (first) return false;
    for (row_statement& s : p_.statements)
      if (!assign_role(s)) return false;
    return reads_are_reachable();
  }

  bool assign_role(row_statement& s) {
    for (const int c : s.target)
      if (!p_.is_parallel(c)) s.swept.push_back(c);
    if (s.kind == role::reduce && !s.swept.empty()) s.kind = role::nested;
    if (s.kind == role::map && s.swept.empty()) s.kind = role::point;
    if (s.kind == role::scan) return s.swept.size() == 1 && s.bound.size() == 1 && s.swept[0] == s.bound[0];
    if (s.kind == role::reduce) return std::none_of(s.bound.begin(), s.bound.end(), [&](int c) { return p_.is_parallel(c); });
    // Argument positions are only emitted for whole rows.
    if (s.kind == role::nested) return s.reducer != reduction::argmax && s.reducer != reduction::argmin;
    return true;
  }

  /// A value computed inside a sweep can only be read in a sweep over the same indices; maps are recomputed where they are needed.
  bool reads_are_reachable() const {
    for (const row_statement& s : p_.statements) {
      std::set<int> here(s.target.begin(), s.target.end());
      here.insert(s.bound.begin(), s.bound.end());
      std::set<int> sweep = here;
      if (s.kind == role::nested)
        for (const int b : s.bound) sweep.erase(b);
      std::erase_if(sweep, [&](int c) { return p_.is_parallel(c); });
      bool good = true;
      for (std::size_t i = 0; i < s.nodes.size(); ++i) {
        const expression& e = s.nodes[i];
        if (e.kind != expression_kind::load || p_.written_by(e.symbol) < 0) continue;
        const row_statement& from = p_.statements[static_cast<std::size_t>(p_.written_by(e.symbol))];
        if (from.kind != role::nested && from.kind != role::scan) continue;
        good = good && std::set<int>(from.swept.begin(), from.swept.end()) == sweep;
      }
      if (!good || (s.kind == role::map && !s.stored && reads_sweep_values(s) && !same_sweep_readers(s))) return false;
    }
    return true;
  }

  bool reads_sweep_values(const row_statement& s) const {
    return std::any_of(s.nodes.begin(), s.nodes.end(), [&](const expression& e) {
      if (e.kind != expression_kind::load || p_.written_by(e.symbol) < 0) return false;
      const row_statement& from = p_.statements[static_cast<std::size_t>(p_.written_by(e.symbol))];
      return from.kind == role::nested || from.kind == role::scan || (from.kind == role::map && reads_sweep_values(from));
    });
  }

  /// Every reader of the map `s` sweeps over exactly its indices (and doesn't sit in a nested loop over them).
  bool same_sweep_readers(const row_statement& s) const {
    const std::set<int> mine(s.swept.begin(), s.swept.end());
    for (const row_statement& reader : p_.statements) {
      const bool reads = std::any_of(reader.nodes.begin(), reader.nodes.end(),
                                     [&](const expression& e) { return e.kind == expression_kind::load && e.symbol == s.tensor; });
      if (!reads) continue;
      std::set<int> theirs(reader.kind == role::reduce ? reader.bound.begin() : reader.swept.begin(),
                           reader.kind == role::reduce ? reader.bound.end() : reader.swept.end());
      if (theirs != mine || reader.kind == role::nested) return false;
    }
    return true;
  }

  /// Nested reductions need lanes along the swept index that are neighbours in memory, else a group of their own is better.
  bool check_nested() const {
    for (const row_statement& s : p_.statements) {
      if (s.kind != role::nested) continue;
      if (s.stored) return false;  // a loop inside a sweep gives values to that sweep, and none to memory
      bool contiguous = false;
      walk(s, s.value, [&](int node) {
        const expression& e = s.nodes[static_cast<std::size_t>(node)];
        if (e.kind == expression_kind::load) contiguous = contiguous || access_of(p_, s, e, s.swept.back()) == access::contiguous;
      });
      if (!contiguous) return false;
    }
    return true;
  }

  bool check_positions() const {
    return std::all_of(p_.statements.begin(), p_.statements.end(), [](const row_statement& s) {
      return (s.reducer != reduction::argmax && s.reducer != reduction::argmin) || s.bound.size() == 1;
    });
  }

  /// Maps that lack a parallel index are recomputed by every row: fine for cheap arithmetic only.
  bool check_recompute() const {
    for (const row_statement& s : p_.statements) {
      if (s.kind != role::map) continue;
      const bool whole_row = std::all_of(p_.parallel.begin(), p_.parallel.end(),
                                         [&](int c) { return std::find(s.target.begin(), s.target.end(), c) != s.target.end(); });
      if (whole_row) continue;
      if (s.stored) return false;
      for (const expression& e : s.nodes)
        if (e.kind == expression_kind::call && e.op >= operation::exp && e.op <= operation::cos && e.op != operation::sqrt) return false;
    }
    // A stored row value that lacks parallel indices would be written by several rows at once.
    return std::all_of(p_.statements.begin(), p_.statements.end(), [&](const row_statement& s) {
      return !s.stored || std::all_of(p_.parallel.begin(), p_.parallel.end(),
                                      [&](int c) { return std::find(s.target.begin(), s.target.end(), c) != s.target.end(); });
    });
  }

  /// Memory order: as in the last stored target that has them all.
  void order_parallel() {
    for (const row_statement& s : p_.statements) {
      std::vector<int> ordered;
      for (const int c : s.target)
        if (p_.is_parallel(c)) ordered.push_back(c);
      if (s.stored && ordered.size() == p_.parallel.size()) p_.parallel = ordered;
    }
  }

  const tensor_ir& ir_;
  const fusion_group& group_;
  row_program p_;
  std::vector<int> first_;     ///< per statement: number of its first variable
  std::vector<int> class_of_;  ///< per variable number
};

}  // namespace

std::optional<row_program> analyse(const tensor_ir& ir, const fusion_group& group) {
  return builder(ir, group).build();
}

bool row_program::is_parallel(int index) const {
  return std::find(parallel.begin(), parallel.end(), index) != parallel.end();
}

std::int64_t row_program::typical(int index) const {
  const extent& e = classes[static_cast<std::size_t>(index)].size;
  std::int64_t largest = 1;
  for (const workload& w : ir->workloads) {
    std::int64_t n = e.constant;
    for (const int a : e.axes) n *= w.axes[static_cast<std::size_t>(a)];
    largest = std::max(largest, n);
  }
  return largest;
}

std::int64_t row_program::common_extent(int index) const {
  const extent& e = classes[static_cast<std::size_t>(index)].size;
  std::int64_t common = 0;
  for (const workload& w : ir->workloads) {
    std::int64_t n = e.constant;
    for (const int a : e.axes) n *= w.axes[static_cast<std::size_t>(a)];
    if (common != 0 && n != common) return 0;
    common = n;
  }
  return common;
}

}  // namespace kernsmith::agents::row
