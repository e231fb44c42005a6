// Problem files in a line or two, for tests.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith::test {

/// A tensor section: "x" of shape "\"B\", \"N\"".
struct tensor_draft {
  std::string name;
  std::string shape;  ///< "B, N, 3": names are quoted by section()
  std::string dtype = "f32";
  std::string more;  ///< further lines
};

inline std::string quoted_shape(const std::string& shape) {
  std::string text;
  std::string word;
  const auto flush = [&] {
    if (word.empty()) return;
    const bool number = word[0] == '-' || (word[0] >= '0' && word[0] <= '9');
    text += (text.empty() ? "" : ", ") + (number ? word : "\"" + word + "\"");
    word.clear();
  };
  for (const char c : shape) {
    if (c == ',')
      flush();
    else if (c != ' ')
      word += c;
  }
  flush();
  return "[" + text + "]";
}

inline std::string section(const std::string& group, const tensor_draft& t) {
  return "[" + group + "." + t.name + "]\nshape = " + quoted_shape(t.shape) + "\ndtype = \"" + t.dtype + "\"\n" + t.more +
         (t.more.empty() ? "" : "\n");
}

/// `axes`: "B = 2\nN = 3". `more` goes before the definition, whose first line is the one after "text = '''".
inline std::string draft(const std::string& axes, const std::vector<tensor_draft>& inputs, const std::vector<tensor_draft>& outputs,
                         const std::string& definition, const std::string& more = "") {
  std::string text = "name = \"draft\"\n[axes]\n" + axes + "\n";
  for (const tensor_draft& t : inputs) text += section("inputs", t);
  for (const tensor_draft& t : outputs) text += section("outputs", t);
  return text + more + "\n[definition]\ntext = '''\n" + definition + "\n'''\n";
}

inline problem parsed(const std::string& text) {
  auto p = parse_problem(text, "draft.toml");
  REQUIRE_MESSAGE(p.has_value(), (p ? std::string() : p.error().message));
  return *std::move(p);
}

/// The message with which `text` is refused; empty when it is accepted.
inline std::string refusal_of(const std::string& text) {
  const auto p = parse_problem(text, "draft.toml");
  if (p) return "";
  CHECK(p.error().kind == fault::bad_request);
  return p.error().message;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace kernsmith::test
