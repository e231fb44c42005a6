// What ships as knowledge. The files of knowledge/ travel inside the program, so that it knows them wherever it was installed to.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agents/knowledge/entry.hpp"
#include "memory/records.hpp"

namespace kernsmith::agents {

/// Path below knowledge/ and text of each file. Made by the build.
[[nodiscard]] std::span<const std::pair<std::string_view, std::string_view>> knowledge_files();

/// All entries, parsed at first use, by path. A file that does not parse is left out; a test sees that there is none. Thread-safe.
[[nodiscard]] const std::vector<knowledge_entry>& all_knowledge();
/// Null when there is none of that id.
[[nodiscard]] const knowledge_entry* find_knowledge(std::string_view id);

/// Ids of the entries that speak to a diagnosis on a target: first those for its bottleneck (for this very target before those for the
/// language), then those for the other bottlenecks it names. At most `most`.
[[nodiscard]] std::vector<std::string> knowledge_for(const memory::diagnosis& d, std::string_view target, std::size_t most = 4);

}  // namespace kernsmith::agents
