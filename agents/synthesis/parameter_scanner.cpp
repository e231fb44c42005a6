#include "agents/synthesis/parameter_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>

namespace kernsmith::agents {
namespace {

constexpr std::string_view macro = "KS_PARAM";
constexpr std::string_view shape = "write KS_PARAM(NAME, default, value, value, ...)";

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

class scanner {
 public:
  explicit scanner(const source_file& source) : file_(source.path.empty() ? source.name : source.path.string()), text_(source.text) {}

  result<std::vector<tunable_parameter>> run() {
    while (at_ < text_.size() && error_.empty()) {
      if (skip_comment() || skip_literal() || skip_define()) continue;
      if (is_word(text_[at_]))
        word();
      else
        ++at_;
    }
    if (!error_.empty()) return fail(fault::bad_request, error_);
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  bool skip_comment() {
    if (starts("//")) {
      // A backslash at the line's end continues the comment.
      while (at_ < text_.size() && !(text_[at_] == '\n' && text_[at_ - 1] != '\\')) ++at_;
      return true;
    }
    if (!starts("/*")) return false;
    const std::size_t end = text_.find("*/", at_ + 2);
    at_ = end == std::string_view::npos ? text_.size() : end + 2;
    return true;
  }

  bool skip_literal() {
    if (starts("R\"")) {
      const std::size_t open = text_.find('(', at_);
      if (open == std::string_view::npos) return false;
      const std::string close = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
      const std::size_t end = text_.find(close, open);
      at_ = end == std::string_view::npos ? text_.size() : end + close.size();
      return true;
    }
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') return false;
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_)
      if (text_[at_] == '\\') ++at_;
    ++at_;
    return true;
  }

  /// A definition of the macro itself is no use of it.
  bool skip_define() {
    if (text_[at_] != '#') return false;
    std::size_t word_at = at_ + 1;
    while (word_at < text_.size() && (text_[word_at] == ' ' || text_[word_at] == '\t')) ++word_at;
    if (!text_.substr(word_at).starts_with("define") && !text_.substr(word_at).starts_with("undef") &&
        !text_.substr(word_at).starts_with("if")) {
      ++at_;
      return true;
    }
    while (at_ < text_.size() && !(text_[at_] == '\n' && text_[at_ - 1] != '\\')) ++at_;
    return true;
  }

  void word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || (text_[at_] == '\'' && at_ + 1 < text_.size() && is_word(text_[at_ + 1]) &&
                                                          std::isdigit(static_cast<unsigned char>(text_[begin])))))
      ++at_;
    if (text_.substr(begin, at_ - begin) == macro) declaration(begin);
  }

  void skip_space() {
    while (at_ < text_.size()) {
      if (is_space(text_[at_]))
        ++at_;
      else if (!skip_comment())
        return;
    }
  }

  void refuse(std::size_t place, const std::string& what) {
    if (!error_.empty()) return;
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(place), '\n');
    const std::size_t line_begin = place == 0 ? 0 : text_.rfind('\n', place - 1) + 1;
    error_ = fmt::format("{}:{}:{}: {}; {}", file_, line, place - line_begin + 1, what, shape);
  }

  bool expect(char symbol) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == symbol) {
      ++at_;
      return true;
    }
    return false;
  }

  /// An integer literal, decimal or hexadecimal, with sign, digit separators and suffixes as C++ has them.
  std::optional<std::int64_t> integer(std::size_t& begin, std::size_t& end) {
    skip_space();
    begin = at_;
    const bool negative = at_ < text_.size() && text_[at_] == '-';
    if (negative || (at_ < text_.size() && text_[at_] == '+')) ++at_;
    std::string digits;
    for (; at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '\''); ++at_)
      if (text_[at_] != '\'') digits += text_[at_];
    end = at_;
    const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    if (hexadecimal) digits.erase(0, 2);
    while (!digits.empty() && std::string_view("uUlL").find(digits.back()) != std::string_view::npos) digits.pop_back();
    if (negative) digits.insert(digits.begin(), '-');
    std::int64_t value = 0;
    const auto [stop, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
    if (digits.empty() || problem != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
    return value;
  }

  void declaration(std::size_t begin) {
    tunable_parameter p;
    p.line = static_cast<std::uint32_t>(1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
    if (!expect('(')) return refuse(begin, "KS_PARAM without its arguments");
    skip_space();
    const std::size_t name_at = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    p.name = text_.substr(name_at, at_ - name_at);
    if (p.name.empty() || std::isdigit(static_cast<unsigned char>(p.name[0])) != 0) return refuse(name_at, "KS_PARAM needs a name first");
    const auto same = [&](const tunable_parameter& other) { return other.name == p.name; };
    if (std::any_of(found_.begin(), found_.end(), same)) return refuse(name_at, fmt::format("KS_PARAM '{}' is declared twice", p.name));
    if (!expect(',')) return refuse(at_, fmt::format("KS_PARAM '{}' has no default", p.name));
    const std::optional<std::int64_t> value = integer(p.value_begin, p.value_end);
    if (!value) return refuse(p.value_begin, fmt::format("the default of KS_PARAM '{}' is not an integer literal", p.name));
    p.value = *value;
    p.choices.push_back(*value);
    while (expect(',')) {
      std::size_t choice_begin = 0, choice_end = 0;
      const std::optional<std::int64_t> choice = integer(choice_begin, choice_end);
      if (!choice) return refuse(choice_begin, fmt::format("a value of KS_PARAM '{}' is not an integer literal", p.name));
      p.choices.push_back(*choice);
    }
    if (!expect(')')) return refuse(at_, fmt::format("KS_PARAM '{}' lacks a comma or its closing parenthesis here", p.name));
    accept(std::move(p), begin);
  }

  void accept(tunable_parameter p, std::size_t begin) {
    std::sort(p.choices.begin(), p.choices.end());
    p.choices.erase(std::unique(p.choices.begin(), p.choices.end()), p.choices.end());
    if (p.choices.size() > max_parameter_choices)
      return refuse(begin, fmt::format("KS_PARAM '{}' has more than {} values", p.name, max_parameter_choices));
    if (found_.size() == max_parameters) return refuse(begin, fmt::format("more than {} KS_PARAMs", max_parameters));
    const std::string_view rest = text_.substr(at_, std::min(text_.find('\n', at_), text_.size()) - at_);
    if (const std::size_t slashes = rest.find("//"); slashes != std::string_view::npos) {
      std::size_t first = slashes + 2;
      while (first < rest.size() && (is_space(rest[first]) || rest[first] == '/' || rest[first] == '<')) ++first;
      p.comment = rest.substr(first);
    }
    found_.push_back(std::move(p));
  }

  std::string file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
  std::vector<tunable_parameter> found_;
};

}  // namespace

result<std::vector<tunable_parameter>> scan_parameters(const source_file& source) {
  return scanner(source).run();
}

}  // namespace kernsmith::agents
