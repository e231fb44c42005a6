#include "agents/synthesis/prelude.hpp"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <string_view>
#include <vector>

#include "agents/synthesis/prelude_text.hpp"

namespace kernsmith::agents {
namespace {

struct piece {
  std::string_view name;
  std::vector<std::string_view> needs;
  std::vector<std::string_view> text;
  std::string_view f64_text = {};  ///< overloads on doubles: only together with "simd64"
};

/// In dependency order: a piece needs only what stands before it.
const std::vector<piece>& pieces() {
  static const std::vector<piece> all = {
      {"types", {}, {prelude::types_text}},
      {"simd", {"types"}, {prelude::simd_text, prelude::simd_memory_text}},
      {"simd64", {"simd"}, {prelude::simd64_text}},
      {"exp", {"simd"}, {prelude::exp_text}, prelude::exp_f64_text},
      {"log", {"simd"}, {prelude::log_text}, prelude::log_f64_text},
      {"log1p", {"log"}, {prelude::log1p_text}, prelude::log1p_f64_text},
      {"expm1", {"exp"}, {prelude::expm1_text}, prelude::expm1_f64_text},
      {"tanh", {"exp"}, {prelude::tanh_text}, prelude::tanh_f64_text},
      {"erf", {"exp"}, {prelude::erf_text}, prelude::erf_f64_text},
      {"sigmoid", {"exp"}, {prelude::sigmoid_text}, prelude::sigmoid_f64_text},
      {"sincos", {"simd"}, {prelude::sincos_text}, prelude::sincos_f64_text},
      {"pow", {"exp", "log", "simd64"}, {prelude::pow_text}, prelude::pow_f64_text},
      {"rsqrt", {"simd"}, {prelude::rsqrt_text}, prelude::rsqrt_f64_text},
  };
  return all;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The identifier that ends just before `end`.
std::string_view word_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

/// Names that the lines of a piece declare; see the style rules in prelude_text.hpp.
void collect_names(std::string_view text, std::set<std::string, std::less<>>& names) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, stop - at);
    at = stop + 1;
    const std::size_t function = line.find("static inline ");
    if (function != std::string_view::npos) {
      names.emplace(word_before(line, line.find('(', function)));
    } else if (line.starts_with("typedef ")) {
      const std::size_t attribute = line.find(" __attribute__");
      names.emplace(word_before(line, attribute != std::string_view::npos ? attribute : line.find(';')));
    }
  }
}

/// Everything that a user's name must not be in an emitted file.
const std::set<std::string, std::less<>>& reserved_names() {
  static const std::set<std::string, std::less<>> all = [] {
    std::set<std::string, std::less<>> names = {
        // C++ keywords and alternative tokens
        "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char", "char8_t",
        "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr", "constinit", "const_cast", "continue",
        "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "explicit",
        "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
        "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
        "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
        "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void",
        "volatile", "wchar_t", "while", "xor", "xor_eq", "linux", "unix", "typeof",
        // types, macros and functions of the standard headers that emitted code uses or may collide with
        "std", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "size_t", "NULL", "INFINITY",
        "NAN", "abs", "exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "sqrt", "cbrt", "pow", "tanh", "erf", "erfc", "sin", "cos",
        "tan", "floor", "ceil", "round", "trunc", "rint", "fma", "fabs", "fmin", "fmax", "fmod", "min", "max", "isnan", "isinf", "memcpy",
        "memset", "malloc", "free", "aligned_alloc", "main", "errno", "assert", "I", "M_PI", "VL",
        // names of the emitted file itself
        "launch", "in", "out", "n_in", "n_out", "ctx", "workspace", "threads"};
    for (const piece& p : pieces())
      for (const std::string_view text : p.text) collect_names(text, names);
    return names;
  }();
  return all;
}

}  // namespace

std::string prelude_text(const std::set<std::string>& wanted) {
  std::set<std::string_view> needed;
  for (const std::string& name : wanted) {
    assert(std::any_of(pieces().begin(), pieces().end(), [&](const piece& p) { return p.name == name; }));
    needed.insert(name);
  }
  for (auto p = pieces().rbegin(); p != pieces().rend(); ++p)
    if (needed.contains(p->name)) needed.insert(p->needs.begin(), p->needs.end());
  std::string text;
  for (const piece& p : pieces()) {
    if (!needed.contains(p.name)) continue;
    for (const std::string_view part : p.text) text.append(part).append("\n");
    if (needed.contains("simd64") && !p.f64_text.empty()) text.append(p.f64_text).append("\n");
  }
  return text;
}

std::string storage_type(dtype type) {
  switch (type) {
    case dtype::f64:
      return "double";
    case dtype::f32:
      return "float";
    case dtype::f16:
      return "_Float16";
    case dtype::bf16:
      return "ks_bf16";
    case dtype::f8e4m3:
      return "ks_f8e4m3";
    case dtype::f8e5m2:
      return "ks_f8e5m2";
    case dtype::i64:
      return "int64_t";
    case dtype::i32:
      return "int32_t";
    case dtype::i16:
      return "int16_t";
    case dtype::i8:
      return "int8_t";
    case dtype::u8:
    case dtype::boolean:
      return "uint8_t";
  }
  return "float";
}

std::string emitted_name(const std::string& name) {
  // Underscores at the ends and in rows are C++'s own, or the prelude's.
  std::string safe;
  for (const char c : name) {
    const char next = is_word(c) ? c : '_';
    if (next != '_' || (!safe.empty() && safe.back() != '_')) safe += next;
  }
  if (safe.ends_with('_')) safe.pop_back();
  if (safe.empty()) safe = "t";
  const bool taken = safe != name || std::isdigit(static_cast<unsigned char>(safe.front())) != 0 || safe.starts_with("ks_") ||
                     safe.starts_with("KS_") || reserved_names().contains(safe);
  if (!taken) return safe;
  return (std::isdigit(static_cast<unsigned char>(safe.front())) != 0 || safe.starts_with("ks_") || safe.starts_with("KS_") ? "v_" : "") +
         safe + "_v";
}

}  // namespace kernsmith::agents
