// Recursive descent over one statement per line: target[indices] = expression.
#include <fmt/format.h>

#include "config/definition_names.hpp"
#include "config/definition_syntax.hpp"
#include "config/refusal.hpp"
#include "config/text.hpp"

namespace kernsmith {

namespace {

class parser {
 public:
  explicit parser(const located_text& source) : source_(source), tokens_(tokenize(source)) {}

  std::vector<syntax_statement> run() {
    std::vector<syntax_statement> statements;
    while (peek().which != token::kind::end) {
      if (peek().which == token::kind::line_end) {
        next();
        continue;
      }
      if (statements.size() == max_statements) refuse(peek().place, fmt::format("more than {} statements", max_statements));
      statements.push_back(statement_line());
    }
    return statements;
  }

 private:
  [[nodiscard]] const token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  [[nodiscard]] bool is_symbol(std::string_view text, std::size_t ahead = 0) const {
    return peek(ahead).which == token::kind::symbol && peek(ahead).text == text;
  }
  [[nodiscard]] bool is_word(std::string_view text) const { return peek().which == token::kind::name && peek().text == text; }
  [[nodiscard]] static std::string shown(const token& t) {
    if (t.which == token::kind::line_end) return "the end of the line";
    return t.which == token::kind::end ? "the end of the definition" : "'" + t.text + "'";
  }
  void expect(std::string_view text, std::string_view where) {
    if (!is_symbol(text)) refuse(peek().place, fmt::format("expected '{}' {}, found {}", text, where, shown(peek())));
    next();
  }

  syntax_statement statement_line() {
    current_ = {};
    current_.place = peek().place;
    const std::size_t begin = peek().begin;
    if (peek().which != token::kind::name)
      refuse(peek().place, fmt::format("a statement begins with the tensor it writes, as in y[i] = ...; found {}", shown(peek())));
    current_.target = next().text;
    if (is_symbol("[")) target_indices();
    if (is_symbol("(")) refuse(peek().place, fmt::format("indices stand in square brackets: {}[...] = ...", current_.target));
    const source_place equals = peek().place;
    expect("=", fmt::format("after the target '{}'", current_.target));
    if (peek().which == token::kind::line_end) refuse(equals, fmt::format("the right-hand side of '{}' is missing", current_.target));
    current_.root = disjunction();
    if (is_symbol("=")) refuse(peek().place, "'=' inside an expression; equality is '=='");
    if (peek().which != token::kind::line_end) refuse(peek().place, fmt::format("unexpected {} after the expression", shown(peek())));
    current_.text = one_line(begin, peek().begin);
    next();
    return std::move(current_);
  }

  void target_indices() {
    next();
    while (!is_symbol("]")) {
      if (peek().which != token::kind::name)
        refuse(peek().place,
               fmt::format("the left-hand side takes index names only, found {}; move arithmetic to the right-hand side", shown(peek())));
      current_.indices.push_back({peek().text, peek().place, std::nullopt});
      next();
      if (!is_symbol("]") && !is_symbol(","))
        refuse(peek().place, "the left-hand side takes index names only; move arithmetic to the right-hand side");
      if (is_symbol(",")) next();
    }
    next();
  }

  int add(syntax_node node) {
    if (current_.nodes.size() == max_nodes_per_statement) refuse(node.place, "this statement is too long; split it into several");
    current_.nodes.push_back(std::move(node));
    return static_cast<int>(current_.nodes.size()) - 1;
  }
  int add_operation(operation op, std::vector<int> arguments, source_place place) {
    syntax_node node;
    node.which = syntax_node::kind::operation;
    node.op = op;
    node.arguments = std::move(arguments);
    node.place = place;
    return add(std::move(node));
  }

  int disjunction() {
    int left = conjunction();
    while (is_word("or")) {
      const source_place place = next().place;
      const int right = conjunction();
      left = add_operation(operation::logical_or, {left, right}, place);
    }
    return left;
  }

  int conjunction() {
    int left = negation();
    while (is_word("and")) {
      const source_place place = next().place;
      const int right = negation();
      left = add_operation(operation::logical_and, {left, right}, place);
    }
    return left;
  }

  int negation() {
    if (!is_word("not")) return comparison();
    const source_place place = next().place;
    const depth_guard guard(*this, place);
    const int operand = negation();
    return add_operation(operation::logical_not, {operand}, place);
  }

  [[nodiscard]] std::optional<operation> comparison_operator() const {
    if (peek().which != token::kind::symbol) return std::nullopt;
    const std::string& text = peek().text;
    if (text == "<") return operation::less;
    if (text == "<=") return operation::less_equal;
    if (text == ">") return operation::greater;
    if (text == ">=") return operation::greater_equal;
    if (text == "==") return operation::equal;
    if (text == "!=") return operation::not_equal;
    return std::nullopt;
  }

  int comparison() {
    const int left = sum();
    const auto op = comparison_operator();
    if (!op) return left;
    const source_place place = next().place;
    const int right = sum();
    if (comparison_operator()) refuse(peek().place, "comparisons don't chain; write a < b and b < c");
    return add_operation(*op, {left, right}, place);
  }

  int sum() {
    int left = product();
    while (is_symbol("+") || is_symbol("-")) {
      const operation op = is_symbol("+") ? operation::add : operation::subtract;
      const source_place place = next().place;
      const int right = product();
      left = add_operation(op, {left, right}, place);
    }
    return left;
  }

  int product() {
    int left = unary();
    while (is_symbol("*") || is_symbol("/")) {
      const operation op = is_symbol("*") ? operation::multiply : operation::divide;
      const source_place place = next().place;
      const int right = unary();
      left = add_operation(op, {left, right}, place);
    }
    return left;
  }

  int unary() {
    if (!is_symbol("-") && !is_symbol("+")) return primary();
    const bool negative = is_symbol("-");
    const source_place place = next().place;
    const depth_guard guard(*this, place);
    const int operand = unary();
    return negative ? add_operation(operation::negate, {operand}, place) : operand;
  }

  int primary() {
    const token& t = peek();
    const depth_guard guard(*this, t.place);
    if (t.which == token::kind::number) {
      next();
      syntax_node node;
      node.text = t.text;
      node.place = t.place;
      return add(std::move(node));
    }
    if (is_symbol("(")) {
      next();
      const int inside = disjunction();
      expect(")", "to close the parenthesis");
      return inside;
    }
    if (t.which != token::kind::name) refuse(t.place, fmt::format("expected a value, found {}", shown(t)));
    if (is_symbol("[", 1)) return load();
    if (is_symbol("(", 1)) return begins_bound_indices(2) ? reduction_call() : call();
    next();
    syntax_node node;
    node.which = syntax_node::kind::name;
    node.text = t.text;
    node.place = t.place;
    return add(std::move(node));
  }

  int load() {
    syntax_node node;
    node.which = syntax_node::kind::load;
    node.text = peek().text;
    node.place = next().place;
    next();
    while (!is_symbol("]")) {
      node.arguments.push_back(disjunction());
      if (!is_symbol("]")) expect(",", fmt::format("or ']' in the indices of '{}'", node.text));
    }
    next();
    return add(std::move(node));
  }

  int call() {
    syntax_node node;
    node.which = syntax_node::kind::call;
    node.text = peek().text;
    node.place = next().place;
    next();
    while (!is_symbol(")")) {
      node.arguments.push_back(disjunction());
      if (is_symbol(":")) refuse(peek().place, fmt::format("what stands before ':' must be index names, as in {}(i, j: ...)", node.text));
      if (!is_symbol(")")) expect(",", fmt::format("or ')' in the arguments of '{}'", node.text));
    }
    next();
    return add(std::move(node));
  }

  /// "i, j: " or "r < R, s < 3: " at the token `ahead`.
  [[nodiscard]] bool begins_bound_indices(std::size_t ahead) const {
    while (true) {
      if (peek(ahead).which != token::kind::name) return false;
      ++ahead;
      if (is_symbol("<", ahead)) ahead += 2;
      if (is_symbol(":", ahead)) return true;
      if (!is_symbol(",", ahead)) return false;
      ++ahead;
    }
  }

  int reduction_call() {
    syntax_node node;
    node.which = syntax_node::kind::reduction;
    node.text = peek().text;
    node.place = next().place;
    do {
      next();  // "(" or ","
      syntax_index index{peek().text, peek().place, std::nullopt};
      next();
      if (is_symbol("<")) {
        next();
        if (peek().which != token::kind::name && peek().which != token::kind::number)
          refuse(peek().place, fmt::format("the range of '{}' is an axis name or an integer, found {}", index.name, shown(peek())));
        index.limit = next();
      }
      node.bound.push_back(std::move(index));
    } while (is_symbol(","));
    next();  // ":"
    if (is_symbol(")")) refuse(node.place, fmt::format("'{}' has no body; write what it reduces after ':'", node.text));
    node.arguments.push_back(disjunction());
    expect(")", fmt::format("to close '{}'", node.text));
    return add(std::move(node));
  }

  /// The statement without comments, line breaks and doubled spaces.
  [[nodiscard]] std::string one_line(std::size_t begin, std::size_t end) const {
    std::string line;
    bool comment = false;
    for (std::size_t i = begin; i < end; ++i) {
      const char c = source_.text[i];
      if (c == '#') comment = true;
      if (c == '\n') comment = false;
      if (comment) continue;
      const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
      if (!blank)
        line += c;
      else if (!line.empty() && line.back() != ' ')
        line += ' ';
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
  }

  /// Keeps hostile nesting from exhausting the stack.
  struct depth_guard {
    depth_guard(parser& owner, source_place place) : owner_(owner) {
      if (++owner_.depth_ > max_expression_depth) refuse(place, "this expression is nested too deeply; split the statement");
    }
    depth_guard(const depth_guard&) = delete;
    depth_guard& operator=(const depth_guard&) = delete;
    ~depth_guard() { --owner_.depth_; }
    parser& owner_;
  };

  const located_text& source_;
  std::vector<token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  syntax_statement current_;
};

}  // namespace

std::vector<syntax_statement> parse_syntax(const located_text& source) {
  if (source.text.size() > max_definition_bytes)
    refuse(source.places.front(), fmt::format("the definition is longer than {} bytes", max_definition_bytes));
  std::vector<syntax_statement> statements = parser(source).run();
  if (statements.empty()) refuse(source.places.front(), "the definition is empty; write at least one statement, as in y[i] = x[i]");
  return statements;
}

}  // namespace kernsmith
