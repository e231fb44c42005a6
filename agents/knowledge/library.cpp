#include "agents/knowledge/library.hpp"

#include <algorithm>

namespace kernsmith::agents {

namespace {

bool names(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

const std::vector<knowledge_entry>& all_knowledge() {
  static const std::vector<knowledge_entry> entries = [] {
    std::vector<knowledge_entry> all;
    for (const auto& [path, text] : knowledge_files()) {
      if (auto entry = parse_knowledge(text, path)) all.push_back(std::move(*entry));
    }
    return all;
  }();
  return entries;
}

const knowledge_entry* find_knowledge(std::string_view id) {
  const auto& all = all_knowledge();
  const auto found = std::find_if(all.begin(), all.end(), [id](const knowledge_entry& e) { return e.id == id; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> knowledge_for(const memory::diagnosis& d, std::string_view target, std::size_t most) {
  std::vector<std::string> wanted = {d.bottleneck};
  wanted.insert(wanted.end(), d.also.begin(), d.also.end());
  std::vector<std::string> ids;
  for (const std::string& bottleneck : wanted) {
    for (const bool exact : {true, false}) {
      for (const knowledge_entry& e : all_knowledge()) {
        if (ids.size() == most) return ids;
        if (e.applies(target) && names(e.applies_to, target) == exact && names(e.bottlenecks, bottleneck) && !names(ids, e.id))
          ids.push_back(e.id);
      }
    }
  }
  return ids;
}

}  // namespace kernsmith::agents
