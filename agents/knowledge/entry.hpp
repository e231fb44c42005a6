// One entry of knowledge/: markdown with a front matter that says what it applies to.
//
//     ---
//     id: cpu-memory-bandwidth
//     title: Move fewer bytes through memory
//     applies_to: [cpp]                     languages or targets: "cuda", "cuda/sm_90a"; [all] for every target
//     bottlenecks: [memory_bandwidth]       words of agents/diagnosis/bottleneck.hpp; may be empty
//     operators: [softmax, layernorm]       classes of operators it was learned from; empty: any
//     source: who says so
//     ---
//     text; lines that begin with "- " are what to try, the most promising first
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/error.hpp"

namespace kernsmith::agents {

struct knowledge_entry {
  std::string id, title, source, body;
  std::vector<std::string> applies_to, bottlenecks, operators;

  /// For "cuda/sm_90a": entries for all targets, for "cuda", and for "cuda/sm_90a".
  [[nodiscard]] bool applies(std::string_view target) const;
  /// The first `most` list items of the body, each as one line.
  [[nodiscard]] std::vector<std::string> first_points(std::size_t most) const;
};

/// bad_request with `where` and the line when the front matter is not as above: a key unknown, missing or twice, a bottleneck that is no
/// word of the vocabulary, an empty body.
[[nodiscard]] result<knowledge_entry> parse_knowledge(std::string_view text, std::string_view where);

}  // namespace kernsmith::agents
