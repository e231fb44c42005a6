#include "adversarial_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

namespace kernsmith::adversarial {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_head_lines = 12;

/// "// key: value" lines at the top; the first line that is none ends them.
std::map<std::string, std::string> head_of(const std::string& source) {
  std::map<std::string, std::string> head;
  std::istringstream lines(source);
  std::size_t count = 0;
  for (std::string line; count < max_head_lines && std::getline(lines, line) && line.starts_with("// "); ++count) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) break;
    head[line.substr(3, colon - 3)] = line.substr(colon + 2);
  }
  return head;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  const std::string separator = " or ";
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(separator, from)) != std::string::npos; from = at + separator.size())
    words.push_back(text.substr(from, at - from));
  words.push_back(text.substr(from));
  return words;
}

result<fixture> load(const fs::path& file, const std::string& name) {
  std::ifstream stream(file, std::ios::binary);
  fixture f;
  f.name = name;
  f.source.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream) return fail(fault::infrastructure, fmt::format("{} can't be read", file.string()));
  std::map<std::string, std::string> head = head_of(f.source);
  for (const char* needed : {"expect", "problem", "effort", "origin", "why"}) {
    if (head[needed].empty()) return fail(fault::bad_request, fmt::format("{} has no line '// {}: ...'", file.string(), needed));
  }
  f.expect = head["expect"];
  f.problem = head["problem"];
  if (!head["rule"].empty()) f.rules = words_of(head["rule"]);
  f.origin = head["origin"];
  f.why = head["why"];
  if (f.origin != "contract" && f.origin != "invented")
    return fail(fault::bad_request, fmt::format("{}: origin is contract or invented", file.string()));
  if ((f.expect == "cheating") == f.rules.empty())
    return fail(fault::bad_request, fmt::format("{}: a rule belongs to cheating, and cheating has one", file.string()));
  if ((f.expect == "passed") != name.starts_with("must_pass/"))
    return fail(fault::bad_request, fmt::format("{}: only what must pass lies in must_pass/", file.string()));
  if (head["effort"] == "quick") {
    f.how = cpp::effort::quick;
  } else if (head["effort"] == "final" || head["effort"] == "strict") {
    f.how = cpp::effort::final;
    f.strict = head["effort"] == "strict";
  } else if (head["effort"] != "search") {
    return fail(fault::bad_request, fmt::format("{}: effort is quick, search, final or strict", file.string()));
  }
  const std::string pad = "pad ";
  if (head["generate"].starts_with(pad)) {
    const std::size_t bytes = std::stoull(head["generate"].substr(pad.size()));
    f.source += "\n//";
    f.source.resize(std::max(bytes, f.source.size()), 'x');
  }
  return f;
}

}  // namespace

result<std::vector<fixture>> load_fixtures(const fs::path& folder) {
  std::vector<fixture> fixtures;
  for (const char* side : {"must_fail", "must_pass"}) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder / side, failed)) {
      if (entry.path().extension() != ".cpp") continue;
      auto f = load(entry.path(), fmt::format("{}/{}", side, entry.path().stem().string()));
      if (!f) return tl::unexpected(f.error());
      fixtures.push_back(std::move(*f));
    }
    if (failed) return fail(fault::bad_request, fmt::format("{}: {}", (folder / side).string(), failed.message()));
  }
  std::sort(fixtures.begin(), fixtures.end(), [](const fixture& a, const fixture& b) { return a.name < b.name; });
  return fixtures;
}

}  // namespace kernsmith::adversarial
