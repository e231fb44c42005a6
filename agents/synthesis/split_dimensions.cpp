#include "agents/synthesis/split_dimensions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "agents/synthesis/expression_tools.hpp"

namespace kernsmith::agents {
namespace {

/// A window of fewer elements than this is no dimension of its own: loops over it would be all overhead.
constexpr std::int64_t least_window = 16;
/// What an extent that is an axis counts where only "long" matters.
constexpr std::int64_t long_extent = 64;

/// Where a dimension or an index is cut: strides of its parts but the last, each dividing the next.
using cuts = std::set<std::int64_t>;

/// A part of a dimension, outermost first: its positions are `extent` steps of `stride`.
struct part {
  std::int64_t stride = 1, extent = 1;
};

std::int64_t literal(const dim& d) {
  return d.axis < 0 ? d.constant : 0;
}

/// Empty unless each cut divides the next and the extent.
std::vector<part> parts_of(const cuts& at, std::int64_t extent) {
  std::vector<part> parts;
  std::int64_t stride = 1;
  for (const std::int64_t cut : at) {
    if (cut % stride != 0) return {};
    parts.push_back({stride, cut / stride});
    stride = cut;
  }
  if (extent % stride != 0) return {};
  parts.push_back({stride, extent / stride});
  std::reverse(parts.begin(), parts.end());
  return parts;
}

bool merge(cuts& into, const cuts& from) {
  const std::size_t before = into.size();
  into.insert(from.begin(), from.end());
  return into.size() != before;
}

class splitter {
 public:
  explicit splitter(tensor_ir& ir) : ir_(ir) {
    for (const tensor_declaration& t : ir.tensors) whole_dims_.emplace_back(t.shape.size(), false);
    for (const statement& s : ir.statements) whole_indices_.emplace_back(s.variables.size(), false);
    find_whole();
  }

  /// False when nothing is to be split.
  bool decide() {
    for (;;) {
      propagate();
      if (!find_misfits()) break;
    }
    return std::any_of(dims_.begin(), dims_.end(), [](const std::vector<cuts>& t) {
      return std::any_of(t.begin(), t.end(), [](const cuts& c) { return !c.empty(); });
    });
  }

  void rewrite() {
    for (const tensor_declaration& t : ir_.tensors) taken_.insert(t.name);
    for (const axis& a : ir_.axes) taken_.insert(a.name);
    for (const statement& s : ir_.statements)
      for (const index_variable& v : s.variables) taken_.insert(v.name);
    const std::vector<tensor_declaration> before = ir_.tensors;
    for (std::size_t t = 0; t < ir_.tensors.size(); ++t) split_shape(t);
    for (std::size_t s = 0; s < ir_.statements.size(); ++s) split_statement(s, before);
  }

 private:
  static bool holds(const std::vector<std::vector<bool>>& flags, std::size_t outer, int inner) {
    return flags[outer][static_cast<std::size_t>(inner)];
  }

  std::int64_t extent_of_index(const statement& s, int index) const { return literal(s.variables[static_cast<std::size_t>(index)].extent); }

  /// Strides, extents and literals only.
  bool is_plain(const statement& s, const index_expression& p) const {
    return p.is_affine && std::all_of(p.terms.begin(), p.terms.end(), [&](const affine_term& t) {
             return t.axes.empty() && t.index >= 0 && t.coefficient > 0 && extent_of_index(s, t.index) > 0;
           });
  }

  /// Does the position take its dimension apart?
  static bool takes_apart(const index_expression& p) {
    return p.terms.size() > 1 || (p.terms.size() == 1 && p.terms.front().coefficient > 1);
  }

  /// Free and summed indices side by side are a window; a long one, or one behind which everything else is summed, is a dimension.
  bool is_short_window(const statement& s, const expression& load, std::size_t d) const {
    std::int64_t summed = 1;
    bool free = false, bound = false;
    for (const affine_term& t : load.indices[d].terms) {
      const index_variable& v = s.variables[static_cast<std::size_t>(t.index)];
      (v.free ? free : bound) = true;
      if (!v.free) summed *= literal(v.extent);
    }
    if (!free || !bound) return false;
    for (std::size_t behind = d + 1; behind < load.indices.size(); ++behind) {
      const int index = sole_index(load.indices[behind]);
      if (index < 0 || s.variables[static_cast<std::size_t>(index)].free) break;
      const std::int64_t extent = extent_of_index(s, index);
      summed *= extent > 0 ? extent : long_extent;
    }
    return summed < least_window;
  }

  template <class F>
  void each_load(F&& visit) {
    for (std::size_t s = 0; s < ir_.statements.size(); ++s)
      for (const expression& e : ir_.statements[s].nodes)
        if (e.kind == expression_kind::load)
          for (std::size_t d = 0; d < e.indices.size(); ++d) visit(s, ir_.statements[s], e, d);
  }

  void keep_whole(int tensor, std::size_t d) { whole_dims_[static_cast<std::size_t>(tensor)][d] = true; }

  /// What can't be split whatever else is.
  void find_whole() {
    for (std::size_t t = 0; t < ir_.tensors.size(); ++t)
      for (std::size_t d = 0; d < ir_.tensors[t].shape.size(); ++d)
        if (ir_.tensors[t].pad || literal(ir_.tensors[t].shape[d]) <= 0) whole_dims_[t][d] = true;
    each_load([&](std::size_t, const statement& s, const expression& e, std::size_t d) {
      if (!is_plain(s, e.indices[d]) || is_short_window(s, e, d)) keep_whole(e.symbol, d);
    });
    for (std::size_t i = 0; i < ir_.statements.size(); ++i) {
      const statement& s = ir_.statements[i];
      for (std::size_t v = 0; v < s.variables.size(); ++v)
        if (literal(s.variables[v].extent) <= 0) whole_indices_[i][v] = true;
      for (const expression& e : s.nodes) {
        if (e.kind == expression_kind::index) whole_indices_[i][static_cast<std::size_t>(e.symbol)] = true;
        const bool counted = e.kind == expression_kind::scan ||
                             (e.kind == expression_kind::reduce && (e.reducer == reduction::argmax || e.reducer == reduction::argmin));
        if (counted)
          for (const int v : e.bound) whole_indices_[i][static_cast<std::size_t>(v)] = true;
      }
    }
  }

  /// Cuts follow from loads that take dimensions apart, and go from dimensions to the indices that stand for them, and back.
  void propagate() {
    dims_.clear(), indices_.clear();
    for (const tensor_declaration& t : ir_.tensors) dims_.emplace_back(t.shape.size());
    for (const statement& s : ir_.statements) indices_.emplace_back(s.variables.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < ir_.statements.size(); ++i) {
        const statement& s = ir_.statements[i];
        for (std::size_t d = 0; d < s.target_indices.size(); ++d)
          changed =
              tie(dims_[static_cast<std::size_t>(s.target)][d], indices_[i][static_cast<std::size_t>(s.target_indices[d])]) || changed;
      }
      each_load([&](std::size_t i, const statement& s, const expression& e, std::size_t d) {
        if (whole_dims_[static_cast<std::size_t>(e.symbol)][d]) return;
        cuts& dimension = dims_[static_cast<std::size_t>(e.symbol)][d];
        const std::int64_t extent = literal(ir_.tensors[static_cast<std::size_t>(e.symbol)].shape[d]);
        const index_expression& p = e.indices[d];
        if (sole_index(p) >= 0)
          changed = tie(dimension, indices_[i][static_cast<std::size_t>(sole_index(p))]) || changed;
        else if (takes_apart(p) || !dimension.empty() || has_cuts(p, indices_[i]))
          changed = cut_at(dimension, extent, s, p, indices_[i]) || changed;
      });
    }
  }

  static bool has_cuts(const index_expression& p, const std::vector<cuts>& indices) {
    return std::any_of(p.terms.begin(), p.terms.end(),
                       [&](const affine_term& t) { return !indices[static_cast<std::size_t>(t.index)].empty(); });
  }

  static bool tie(cuts& a, cuts& b) {
    const bool first = merge(a, b);
    return merge(b, a) || first;
  }

  bool cut_at(cuts& dimension, std::int64_t extent, const statement& s, const index_expression& p, std::vector<cuts>& indices) const {
    cuts wanted;
    bool changed = false;
    for (const affine_term& t : p.terms) {
      cuts& own = indices[static_cast<std::size_t>(t.index)];
      const std::int64_t c = t.coefficient, end = c * extent_of_index(s, t.index);
      wanted.insert({c, end});
      for (const std::int64_t cut : own) wanted.insert(c * cut);
      for (const std::int64_t cut : dimension)
        if (cut > c && cut < end && cut % c == 0) changed = own.insert(cut / c).second || changed;
    }
    std::erase_if(wanted, [&](std::int64_t cut) { return cut <= 1 || cut >= extent; });
    return merge(dimension, wanted) || changed;
  }

  /// Keeps whole what does not come out even. True when something was found: then all follows anew.
  bool find_misfits() {
    bool found = false;
    for (std::size_t t = 0; t < dims_.size(); ++t) {
      for (std::size_t d = 0; d < dims_[t].size(); ++d) {
        if (dims_[t][d].empty()) continue;
        if (!whole_dims_[t][d] && !parts_of(dims_[t][d], literal(ir_.tensors[t].shape[d])).empty()) continue;
        // A whole dimension that is to be split: an index that stands for it may not be split either.
        found = keep_all_that_meet(t, d) || found;
      }
    }
    each_load([&](std::size_t i, const statement& s, const expression& e, std::size_t d) {
      const auto t = static_cast<std::size_t>(e.symbol);
      if (whole_dims_[t][d]) {
        for (const affine_term& term : e.indices[d].terms)
          if (term.index >= 0 && !indices_[i][static_cast<std::size_t>(term.index)].empty() && !holds(whole_indices_, i, term.index)) {
            whole_indices_[i][static_cast<std::size_t>(term.index)] = true;
            found = true;
          }
        return;
      }
      if (dims_[t][d].empty() || found) return;
      if (!digits_of(e.indices[d], s, parts_of(dims_[t][d], literal(ir_.tensors[t].shape[d])))) {
        whole_dims_[t][d] = true;
        found = true;
      }
    });
    for (std::size_t i = 0; i < indices_.size(); ++i)
      for (std::size_t v = 0; v < indices_[i].size(); ++v)
        if (whole_indices_[i][v] && !indices_[i][v].empty()) found = keep_dimensions_of(i, static_cast<int>(v)) || found;
    return found;
  }

  bool keep_all_that_meet(std::size_t t, std::size_t d) {
    bool found = !whole_dims_[t][d];
    whole_dims_[t][d] = true;
    for (std::size_t i = 0; i < ir_.statements.size(); ++i) {
      const statement& s = ir_.statements[i];
      if (static_cast<std::size_t>(s.target) != t) continue;
      const auto v = static_cast<std::size_t>(s.target_indices[d]);
      found = found || !whole_indices_[i][v];
      whole_indices_[i][v] = true;
    }
    return found;
  }

  /// An index that can't be split: no dimension that it stands for, or is a part of, is split.
  bool keep_dimensions_of(std::size_t i, int v) {
    bool found = false;
    const statement& s = ir_.statements[i];
    const auto keep = [&](int tensor, std::size_t d) {
      if (dims_[static_cast<std::size_t>(tensor)][d].empty() || whole_dims_[static_cast<std::size_t>(tensor)][d]) return;
      keep_whole(tensor, d);
      found = true;
    };
    for (std::size_t d = 0; d < s.target_indices.size(); ++d)
      if (s.target_indices[d] == v) keep(s.target, d);
    for (const expression& e : s.nodes)
      if (e.kind == expression_kind::load)
        for (std::size_t d = 0; d < e.indices.size(); ++d)
          for (const affine_term& t : e.indices[d].terms)
            if (t.index == v) keep(e.symbol, d);
    return found;
  }

  /// The index or literal in each part of a dimension, by the old indices; nothing when the position is none of these in one of them.
  std::optional<std::vector<index_expression>> digits_of(const index_expression& p, const statement& s,
                                                         const std::vector<part>& parts) const {
    std::vector<index_expression> digits(parts.size());
    if (p.constant < 0) return std::nullopt;
    std::int64_t rest = p.constant;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      digits[k].constant = rest / parts[k].stride;
      rest %= parts[k].stride;
      if (digits[k].constant >= parts[k].extent) return std::nullopt;
    }
    for (const affine_term& t : p.terms) {
      const std::int64_t begin = t.coefficient, end = begin * extent_of_index(s, t.index);
      std::int64_t covered = 1;
      for (std::size_t k = 0; k < parts.size(); ++k) {
        const std::int64_t low = parts[k].stride, high = low * parts[k].extent;
        if (high <= begin || low >= end) continue;
        if (low < begin || high > end || digits[k].constant != 0 || !digits[k].terms.empty()) return std::nullopt;
        // The coefficient stands for where the part begins in the index itself.
        digits[k].terms.push_back({low / begin, {}, t.index});
        covered *= parts[k].extent;
      }
      if (covered != end / begin) return std::nullopt;
    }
    return digits;
  }

  void split_shape(std::size_t t) {
    std::vector<dim> shape;
    for (std::size_t d = 0; d < ir_.tensors[t].shape.size(); ++d) {
      if (dims_[t][d].empty()) {
        shape.push_back(ir_.tensors[t].shape[d]);
        continue;
      }
      for (const part& p : parts_of(dims_[t][d], literal(ir_.tensors[t].shape[d]))) shape.push_back({-1, p.extent});
    }
    ir_.tensors[t].shape = std::move(shape);
  }

  /// The same name for the same part in all statements.
  std::string name_of_part(const std::string& index, std::size_t which) {
    std::string& known = part_names_[{index, which}];
    if (known.empty()) {
      known = fmt::format("{}{}", index, which + 1);
      while (!taken_.insert(known).second) known += '_';
    }
    return known;
  }

  void split_statement(std::size_t i, const std::vector<tensor_declaration>& before) {
    statement& s = ir_.statements[i];
    const statement old = s;
    const std::vector<dim>& target = before[static_cast<std::size_t>(s.target)].shape;
    // Per old index its parts, as new indices, by their stride in the old one.
    std::vector<std::map<std::int64_t, int, std::greater<>>> parts(old.variables.size());
    s.variables.clear();
    for (std::size_t v = 0; v < old.variables.size(); ++v) {
      const cuts& at = indices_[i][v];
      if (at.empty()) {
        parts[v][1] = static_cast<int>(s.variables.size());
        s.variables.push_back(old.variables[v]);
        continue;
      }
      std::size_t which = 0;
      for (const part& p : parts_of(at, literal(old.variables[v].extent))) {
        parts[v][p.stride] = static_cast<int>(s.variables.size());
        s.variables.push_back({name_of_part(old.variables[v].name, which++), dim{-1, p.extent}, old.variables[v].free});
      }
    }
    const auto all_of = [&](const std::vector<int>& indices) {
      std::vector<int> made;
      for (const int v : indices)
        for (const auto& [stride, index] : parts[static_cast<std::size_t>(v)]) made.push_back(index);
      return made;
    };
    s.target_indices = all_of(old.target_indices);
    for (std::size_t n = 0; n < s.nodes.size(); ++n) {
      expression& e = s.nodes[n];
      e.bound = all_of(e.bound);
      if (e.kind == expression_kind::index) e.symbol = parts[static_cast<std::size_t>(e.symbol)].at(1);
      if (e.kind != expression_kind::load) continue;
      std::vector<index_expression> positions;
      const auto t = static_cast<std::size_t>(e.symbol);
      for (std::size_t d = 0; d < e.indices.size(); ++d) {
        std::vector<index_expression> made{e.indices[d]};
        if (!dims_[t][d].empty()) made = *digits_of(e.indices[d], old, parts_of(dims_[t][d], literal(before[t].shape[d])));
        const bool split = !dims_[t][d].empty();
        for (index_expression& p : made) {
          for (affine_term& term : p.terms) {
            if (term.index < 0) continue;
            const auto& of = parts[static_cast<std::size_t>(term.index)];
            const std::int64_t stride = split ? term.coefficient : 1;
            term.index = of.at(stride);
            if (split) term.coefficient = 1;
          }
          std::sort(p.terms.begin(), p.terms.end(),
                    [](const affine_term& a, const affine_term& b) { return a.index != b.index ? a.index < b.index : a.axes < b.axes; });
          positions.push_back(std::move(p));
        }
      }
      e.indices = std::move(positions);
    }
    if (s.variables.size() != old.variables.size() || ir_.tensors[static_cast<std::size_t>(s.target)].shape.size() != target.size() ||
        !same_loads(old, s))
      s.text = statement_text(ir_.axes, ir_.tensors, s);
  }

  static bool same_loads(const statement& a, const statement& b) {
    for (std::size_t n = 0; n < a.nodes.size(); ++n)
      if (a.nodes[n].indices.size() != b.nodes[n].indices.size()) return false;
    return true;
  }

  tensor_ir& ir_;
  std::vector<std::vector<bool>> whole_dims_, whole_indices_;  ///< per tensor and dimension, per statement and index
  std::vector<std::vector<cuts>> dims_, indices_;
  std::set<std::string> taken_;
  std::map<std::pair<std::string, std::size_t>, std::string> part_names_;
};

}  // namespace

void split_dimensions(tensor_ir& ir) {
  splitter s(ir);
  if (s.decide()) s.rewrite();
}

}  // namespace kernsmith::agents
