#include "agents/knowledge/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "agents/diagnosis/bottleneck.hpp"
#include "config/text.hpp"

namespace kernsmith::agents {

namespace {

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

/// "[a, b]" -> a, b.
result<std::vector<std::string>> list_of(const std::string& value, const std::string& place) {
  if (value.size() < 2 || value.front() != '[' || value.back() != ']')
    return fail(fault::bad_request, fmt::format("{}: expected a list in brackets, found '{}'", place, value));
  std::vector<std::string> items;
  std::istringstream words(value.substr(1, value.size() - 2));
  for (std::string item; std::getline(words, item, ',');) {
    if (!trimmed(item).empty()) items.push_back(trimmed(item));
  }
  return items;
}

using fields = std::map<std::string, std::pair<std::string, std::string>>;  // key -> value, place

/// The lines between the two "---"; `text` becomes what follows.
result<fields> front_matter(std::istringstream& text, std::string_view where) {
  static const std::vector<std::string> known = {"id", "title", "applies_to", "bottlenecks", "operators", "source"};
  std::string line;
  if (!std::getline(text, line) || trimmed(line) != "---")
    return fail(fault::bad_request, fmt::format("{}:1: expected '---', the beginning of the front matter", where));
  fields found;
  for (int number = 2; std::getline(text, line); ++number) {
    const std::string place = fmt::format("{}:{}", where, number);
    if (trimmed(line) == "---") {
      for (const std::string& key : known) {
        if (!found.contains(key)) return fail(fault::bad_request, fmt::format("{}: the front matter lacks '{}'", place, key));
      }
      return found;
    }
    const std::size_t colon = line.find(':');
    const std::string key = trimmed(line.substr(0, colon));
    if (colon == std::string::npos || std::find(known.begin(), known.end(), key) == known.end())
      return fail(fault::bad_request, fmt::format("{}: unknown key '{}'{}", place, key, did_you_mean(key, known)));
    if (!found.emplace(key, std::pair(trimmed(line.substr(colon + 1)), place)).second)
      return fail(fault::bad_request, fmt::format("{}: '{}' is given twice", place, key));
  }
  return fail(fault::bad_request, fmt::format("{}: the front matter has no end", where));
}

}  // namespace

bool knowledge_entry::applies(std::string_view target) const {
  const std::string_view language = target.substr(0, target.find('/'));
  return std::any_of(applies_to.begin(), applies_to.end(),
                     [&](const std::string& name) { return name == "all" || name == language || name == target; });
}

std::vector<std::string> knowledge_entry::first_points(std::size_t most) const {
  std::vector<std::string> points;
  std::istringstream lines(body);
  bool open = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("- ")) {
      if (points.size() == most) break;
      points.push_back(trimmed(line.substr(2)));
      open = true;
    } else if (open && line.starts_with("  ") && !trimmed(line).empty()) {
      points.back() += " " + trimmed(line);
    } else {
      open = false;
    }
  }
  return points;
}

result<knowledge_entry> parse_knowledge(std::string_view text, std::string_view where) {
  std::istringstream lines{std::string(text)};
  auto head = front_matter(lines, where);
  if (!head) return tl::unexpected(head.error());
  knowledge_entry entry;
  entry.id = head->at("id").first;
  entry.title = head->at("title").first;
  entry.source = head->at("source").first;
  if (!is_valid_name(entry.id))
    return fail(fault::bad_request,
                fmt::format("{}: '{}' is no id: lower-case letters, digits, '-' and '_'", head->at("id").second, entry.id));
  for (const char* key : {"title", "source"}) {
    if (head->at(key).first.empty()) return fail(fault::bad_request, fmt::format("{}: '{}' is empty", head->at(key).second, key));
  }
  for (const auto& [key, target] : {std::pair("applies_to", &entry.applies_to), std::pair("bottlenecks", &entry.bottlenecks),
                                    std::pair("operators", &entry.operators)}) {
    auto list = list_of(head->at(key).first, head->at(key).second);
    if (!list) return tl::unexpected(list.error());
    *target = std::move(*list);
  }
  if (entry.applies_to.empty())
    return fail(fault::bad_request, fmt::format("{}: 'applies_to' names nothing; [all] means every target", head->at("applies_to").second));
  for (const std::string& name : entry.bottlenecks) {
    if (!bottleneck_named(name))
      return fail(fault::bad_request, fmt::format("{}: '{}' is no bottleneck of the vocabulary", head->at("bottlenecks").second, name));
  }
  entry.body = std::string(std::istreambuf_iterator<char>(lines), {});
  if (trimmed(entry.body).empty() || entry.body.find_first_not_of(" \n\t\r") == std::string::npos)
    return fail(fault::bad_request, fmt::format("{}: nothing follows the front matter", where));
  return entry;
}

}  // namespace kernsmith::agents
