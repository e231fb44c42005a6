#include "config/definition_resolver.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/definition_names.hpp"
#include "config/expression_resolver.hpp"
#include "config/refusal.hpp"
#include "config/text.hpp"

namespace kernsmith {

namespace {

class definition_builder {
 public:
  definition_builder(problem& p, const std::vector<intermediate_declaration>& intermediates)
      : p_(p), intermediates_(intermediates), scope_{p, {}, {}} {
    for (const tensor_declaration& t : p.tensors) scope_.readable.push_back(t.role == tensor_role::input);
  }

  void run(const located_text& text) {
    const std::vector<syntax_statement> statements = parse_syntax(text);
    for (const syntax_statement& s : statements) {
      const auto [first, fresh] = scope_.targets.emplace(s.target, s.place);
      if (!fresh) refuse(s.place, fmt::format("'{}' is written twice; line {} writes it already", s.target, first->second.line));
      check_target_name(s);
    }
    for (const syntax_statement& s : statements) build(s);
    for (const tensor_declaration& t : p_.tensors)
      if (t.role == tensor_role::output && scope_.targets.count(t.name) == 0) never_written("output", t.name, t.place);
    for (const intermediate_declaration& i : intermediates_)
      if (scope_.targets.count(i.name) == 0) never_written("intermediate", i.name, i.place);
  }

 private:
  void check_target_name(const syntax_statement& s) const {
    if (is_reserved_word(s.target)) refuse(s.place, fmt::format("'{}' is a word of the language; give the tensor another name", s.target));
    for (const axis& a : p_.axes)
      if (a.name == s.target) refuse(s.place, fmt::format("'{}' is an axis; give the tensor another name", s.target));
    for (const tensor_declaration& t : p_.tensors)
      if (t.name == s.target && t.role == tensor_role::input)
        refuse(s.place, fmt::format("'{}' is an input; inputs can't be written", s.target));
    if (!is_identifier(s.target))
      refuse(s.place, fmt::format("the name '{}' is longer than {} characters", s.target, max_identifier_length));
  }

  [[noreturn]] void never_written(const char* what, const std::string& name, source_place place) const {
    std::vector<std::string> unclaimed;
    for (const auto& [target, where] : scope_.targets) {
      const bool declared = std::any_of(p_.tensors.begin(), p_.tensors.end(), [&, written = target](const tensor_declaration& t) {
        return t.name == written && t.role == tensor_role::output;
      });
      if (!declared) unclaimed.push_back(target);
    }
    const std::string near = nearest_name(name, unclaimed);
    refuse(place, fmt::format("{} '{}' is never written; add a statement {}[...] = ...{}", what, name, name,
                              near.empty() ? "" : fmt::format(" (is '{}' meant to be it?)", near)));
  }

  void build(const syntax_statement& syntax) {
    statement s;
    s.place = syntax.place;
    s.text = syntax.text;
    for (const syntax_index& index : syntax.indices) add_free_index(s, index);
    std::vector<range_claim> claims;
    int target = find_declared(syntax.target);
    if (target >= 0) claim_shape(syntax, p_.tensors[static_cast<std::size_t>(target)].shape, claims);
    const intermediate_declaration* declared = find_intermediate(syntax.target);
    if (declared != nullptr && declared->shape) claim_shape(syntax, *declared->shape, claims);
    expression_resolver(scope_, syntax, s).run(claims);
    settle_ranges(syntax, s, claims);
    settle_partial(s);
    if (target < 0) target = add_intermediate(syntax, s, declared);
    s.target = target;
    check_store(s, p_.tensors[static_cast<std::size_t>(target)]);
    scope_.readable[static_cast<std::size_t>(target)] = true;
    p_.statements.push_back(std::move(s));
  }

  void add_free_index(statement& s, const syntax_index& index) const {
    if (is_reserved_word(index.name))
      refuse(index.place, fmt::format("'{}' is a word of the language; give the index another name", index.name));
    for (const axis& a : p_.axes)
      if (a.name == index.name) refuse(index.place, fmt::format("'{}' is an axis; the left-hand side takes index names", index.name));
    for (const index_variable& v : s.variables)
      if (v.name == index.name) refuse(index.place, fmt::format("index '{}' stands twice on the left-hand side", index.name));
    s.target_indices.push_back(static_cast<int>(s.variables.size()));
    s.variables.push_back({index.name, {}, true});
  }

  [[nodiscard]] int find_declared(const std::string& name) const {
    for (std::size_t i = 0; i < p_.tensors.size(); ++i)
      if (p_.tensors[i].name == name) return static_cast<int>(i);
    return -1;
  }

  [[nodiscard]] const intermediate_declaration* find_intermediate(const std::string& name) const {
    for (const intermediate_declaration& i : intermediates_)
      if (i.name == name) return &i;
    return nullptr;
  }

  static void claim_shape(const syntax_statement& syntax, const std::vector<dim>& shape, std::vector<range_claim>& claims) {
    if (shape.size() != syntax.indices.size())
      refuse(syntax.place, fmt::format("'{}' has {} dimension{}, {} ind{} given", syntax.target, shape.size(), shape.size() == 1 ? "" : "s",
                                       syntax.indices.size(), syntax.indices.size() == 1 ? "ex" : "ices"));
    for (std::size_t d = 0; d < shape.size(); ++d)
      claims.push_back({static_cast<int>(d), shape[d], syntax.target, syntax.indices[d].place});
  }

  void settle_ranges(const syntax_statement& syntax, statement& s, const std::vector<range_claim>& claims) const {
    std::vector<const range_claim*> first(s.variables.size(), nullptr);
    for (const range_claim& claim : claims) {
      const auto variable = static_cast<std::size_t>(claim.variable);
      if (first[variable] == nullptr) {
        first[variable] = &claim;
        s.variables[variable].extent = claim.range;
      } else if (!(first[variable]->range == claim.range)) {
        refuse(claim.place,
               fmt::format("index '{}' ranges over {} in {} and over {} in {}", s.variables[variable].name,
                           describe(first[variable]->range, p_.axes), first[variable]->where, describe(claim.range, p_.axes), claim.where));
      }
    }
    for (std::size_t v = 0; v < s.variables.size(); ++v) {
      if (first[v] != nullptr) continue;
      const std::string& name = s.variables[v].name;
      if (s.variables[v].free)
        refuse(syntax.indices[v].place,
               fmt::format("the range of index '{}' is unknown: it stands alone in no load; declare [intermediates.{}] shape", name,
                           syntax.target));
      refuse(bound_place(syntax, name), fmt::format("the range of index '{}' is unknown: it stands alone in no load; state it, as in "
                                                    "sum({} < R: ...) with an axis or an integer R",
                                                    name, name));
    }
  }

  /// An index written as a sum is partial where it doesn't range over the whole dimension after all.
  void settle_partial(statement& s) const {
    for (expression& e : s.nodes) {
      for (std::size_t d = 0; d < e.indices.size(); ++d) {
        index_expression& position = e.indices[d];
        if (!position.partial) continue;
        const dim& range = s.variables[static_cast<std::size_t>(position.terms.front().index)].extent;
        position.partial = !(range == p_.tensors[static_cast<std::size_t>(e.symbol)].shape[d]);
      }
    }
  }

  static source_place bound_place(const syntax_statement& syntax, const std::string& name) {
    for (const syntax_node& node : syntax.nodes)
      for (const syntax_index& index : node.bound)
        if (index.name == name) return index.place;
    return syntax.place;
  }

  int add_intermediate(const syntax_statement& syntax, const statement& s, const intermediate_declaration* declared) {
    tensor_declaration t;
    t.name = syntax.target;
    t.role = tensor_role::intermediate;
    t.place = declared != nullptr ? declared->place : syntax.place;
    t.type_declared = declared != nullptr && declared->type;
    t.type = t.type_declared ? *declared->type : inferred_dtype(p_, s);
    for (const int variable : s.target_indices) t.shape.push_back(s.variables[static_cast<std::size_t>(variable)].extent);
    if (declared != nullptr) t.pad = declared->pad;
    if (t.pad && !is_float(t.type) && *t.pad != static_cast<double>(static_cast<std::int64_t>(*t.pad)))
      refuse(t.place, fmt::format("the pad of '{}' must be an integer: its dtype is {}", t.name, name_of(t.type)));
    p_.tensors.push_back(std::move(t));
    scope_.readable.push_back(false);
    return static_cast<int>(p_.tensors.size()) - 1;
  }

  static void check_store(const statement& s, const tensor_declaration& target) {
    const value_class value = s.nodes[static_cast<std::size_t>(s.root)].type;
    if (is_float(target.type)) return;
    if (value == value_class::real)
      refuse(s.place, fmt::format("'{}' is {} but the expression is real; say how to convert it, as in {}({})", target.name,
                                  name_of(target.type), name_of(target.type), target.type == dtype::boolean ? "..." : "floor(...)"));
    if (target.type == dtype::boolean && value == value_class::integer)
      refuse(s.place, fmt::format("'{}' is bool but the expression is an integer; compare it, as in ... != 0", target.name));
  }

  problem& p_;
  const std::vector<intermediate_declaration>& intermediates_;
  resolver_scope scope_;
};

}  // namespace

std::string describe(const dim& d, const std::vector<axis>& axes) {
  if (d.axis < 0) return fmt::format("{}", d.constant);
  const axis& a = axes[static_cast<std::size_t>(d.axis)];
  return fmt::format("{} ({})", a.name, a.extent);
}

int sole_index(const index_expression& position) {
  if (!position.is_affine || position.partial || position.constant != 0 || position.terms.size() != 1) return -1;
  const affine_term& term = position.terms.front();
  return term.coefficient == 1 && term.axes.empty() ? term.index : -1;
}

void resolve_definition(problem& p, const located_text& text, const std::vector<intermediate_declaration>& intermediates) {
  definition_builder(p, intermediates).run(text);
}

}  // namespace kernsmith
