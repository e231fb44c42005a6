#include <fmt/format.h>

#include "config/definition_syntax.hpp"
#include "config/refusal.hpp"

namespace kernsmith {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class lexer {
 public:
  explicit lexer(const located_text& source) : source_(source), text_(source.text) {}

  std::vector<token> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        skip_comment();
      } else if (c == '\n') {
        end_of_line();
      } else if (is_letter(c)) {
        name();
      } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
        number();
      } else {
        symbol();
      }
    }
    push(token::kind::line_end, 0);
    push(token::kind::end, 0);
    return std::move(tokens_);
  }

 private:
  void push(token::kind which, std::size_t length) {
    tokens_.push_back({which, text_.substr(at_, length), source_.places[at_], at_, at_ + length});
    at_ += length;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  /// A statement goes on in the next line inside brackets, after an operator, and when the next line begins with one.
  void end_of_line() {
    const bool continues = depth_ > 0 || after_operator() || before_operator();
    if (continues) {
      ++at_;
    } else {
      push(token::kind::line_end, 1);
    }
  }

  [[nodiscard]] bool after_operator() const {
    if (tokens_.empty()) return false;
    const token& last = tokens_.back();
    if (last.which == token::kind::name) return last.text == "and" || last.text == "or" || last.text == "not";
    return last.which == token::kind::symbol && last.text != ")" && last.text != "]";
  }

  [[nodiscard]] bool before_operator() const {
    std::size_t next = at_;
    while (next < text_.size() && (text_[next] == ' ' || text_[next] == '\t' || text_[next] == '\r' || text_[next] == '\n')) ++next;
    return next < text_.size() && (text_[next] == '+' || text_[next] == '-' || text_[next] == '*' || text_[next] == '/');
  }

  void name() {
    std::size_t length = 1;
    while (at_ + length < text_.size() && (is_letter(text_[at_ + length]) || is_digit(text_[at_ + length]))) ++length;
    push(token::kind::name, length);
  }

  void number() {
    std::size_t end = at_;
    const auto digits = [&] {
      while (end < text_.size() && is_digit(text_[end])) ++end;
    };
    digits();
    if (end < text_.size() && text_[end] == '.') {
      ++end;
      digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      ++end;
      if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      if (end >= text_.size() || !is_digit(text_[end])) refuse(source_.places[at_], "the exponent of this number has no digits");
      digits();
    }
    if (end < text_.size() && is_letter(text_[end]))
      refuse(source_.places[end], fmt::format("'{}' follows a number; write a product as 2*x", text_[end]));
    push(token::kind::number, end - at_);
  }

  void symbol() {
    const char c = text_[at_];
    const std::string two = text_.substr(at_, 2);
    if (two == "==" || two == "!=" || two == "<=" || two == ">=") return push(token::kind::symbol, 2);
    if (two == "&&" || two == "||") refuse(source_.places[at_], fmt::format("'{}' is written '{}' here", two, two == "&&" ? "and" : "or"));
    if (two == "**") refuse(source_.places[at_], "powers are written pow(x, y)");
    if (c == '(' || c == '[') ++depth_;
    if ((c == ')' || c == ']') && depth_ > 0) --depth_;
    if (std::string_view("+-*/()[],:=<>").find(c) != std::string_view::npos) return push(token::kind::symbol, 1);
    if (c == '!') refuse(source_.places[at_], "'!' is written 'not' here");
    if (c == '^') refuse(source_.places[at_], "powers are written pow(x, y)");
    const bool printable = c > ' ' && c < 0x7F;
    refuse(source_.places[at_],
           printable ? fmt::format("unexpected character '{}'", c) : "unexpected character; the language is plain ASCII");
  }

  const located_text& source_;
  const std::string& text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<token> tokens_;
};

}  // namespace

std::vector<token> tokenize(const located_text& source) {
  return lexer(source).run();
}

}  // namespace kernsmith
