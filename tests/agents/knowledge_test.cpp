// What ships as knowledge: the format of an entry, and that every file keeps to it.
#include <filesystem>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "agents/diagnosis/rules.hpp"
#include "agents/knowledge/library.hpp"

using namespace kernsmith;
using namespace kernsmith::agents;

namespace {

const std::string good =
    "---\nid: an-entry\ntitle: A title: with a colon\napplies_to: [cpp, cuda/sm_90a]\nbottlenecks: [latency]\noperators: []\nsource: "
    "me\n---\n"
    "Words.\n\n- first\n  and on\n- second\n\nmore\n- third\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// The message that refuses a text.
std::string refusal(const std::string& text) {
  const auto entry = parse_knowledge(text, "x.md");
  REQUIRE_FALSE(entry.has_value());
  CHECK(entry.error().kind == fault::bad_request);
  return entry.error().message;
}

}  // namespace

TEST_CASE("an entry is read") {
  const auto entry = parse_knowledge(good, "x.md");
  REQUIRE(entry.has_value());
  CHECK(entry->id == "an-entry");
  CHECK(entry->title == "A title: with a colon");
  CHECK(entry->applies_to == std::vector<std::string>{"cpp", "cuda/sm_90a"});
  CHECK(entry->first_points(2) == std::vector<std::string>{"first and on", "second"});
  CHECK(entry->first_points(9).size() == 3);
  CHECK(entry->applies("cpp/x86-64-v4"));
  CHECK(entry->applies("cuda/sm_90a"));
  CHECK_FALSE(entry->applies("cuda/sm_80"));
  CHECK_FALSE(entry->applies("triton/sm_90"));
}

TEST_CASE("what is wrong with an entry is told with its place") {
  CHECK(refusal("text") == "x.md:1: expected '---', the beginning of the front matter");
  CHECK(refusal(replaced(good, "source: me\n", "")).find("lacks 'source'") != std::string::npos);
  CHECK(refusal(replaced(good, "title:", "titel:")).find("x.md:3: unknown key 'titel'; did you mean 'title'?") != std::string::npos);
  CHECK(refusal(replaced(good, "id: an-entry\n", "id: an-entry\nid: two\n")).find("x.md:3: 'id' is given twice") != std::string::npos);
  CHECK(refusal(replaced(good, "[latency]", "[slowness]")).find("x.md:5: 'slowness' is no bottleneck") != std::string::npos);
  CHECK(refusal(replaced(good, "[latency]", "latency")).find("x.md:5: expected a list") != std::string::npos);
  CHECK(refusal(replaced(good, "[cpp, cuda/sm_90a]", "[]")).find("names nothing") != std::string::npos);
  CHECK(refusal(replaced(good, "an-entry", "An Entry")).find("is no id") != std::string::npos);
  CHECK(refusal(good.substr(0, good.find("Words."))).find("nothing follows") != std::string::npos);
  CHECK(refusal(good.substr(0, good.find("source"))).find("no end") != std::string::npos);
}

TEST_CASE("every file of knowledge/ is valid and travels in the program") {
  std::set<std::string> ids, embedded;
  for (const auto& [path, text] : knowledge_files()) {
    CAPTURE(path);
    embedded.emplace(path);
    const auto entry = parse_knowledge(text, path);
    if (!entry) FAIL_CHECK(entry.error().message);
    if (entry) CHECK_MESSAGE(ids.insert(entry->id).second, "two entries are called " << entry->id);
  }
  CHECK(ids.size() == all_knowledge().size());
  CHECK(ids.size() >= 12);
  const std::filesystem::path root = std::filesystem::path(KERNSMITH_SOURCE_DIR) / "knowledge";
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    const std::string path = std::filesystem::relative(file.path(), root).string();
    if (file.path().extension() == ".md" && file.path().filename() != "README.md") CHECK_MESSAGE(embedded.contains(path), path);
  }
}

TEST_CASE("whatever a rule finds, there is something to read about it") {
  for (const auto& [target, rules] : {std::pair{"cpp/x86-64-v4", cpu_rules()}, std::pair{"cuda/sm_90a", nvidia_rules()}}) {
    for (const rule& r : rules) {
      memory::diagnosis d;
      d.bottleneck = name_of(r.which);
      const auto ids = knowledge_for(d, target);
      CHECK_MESSAGE(!ids.empty(), target << " " << d.bottleneck);
      if (!ids.empty()) CHECK(find_knowledge(ids.front())->applies(target));
    }
  }
  memory::diagnosis d;
  d.bottleneck = "unclear";
  CHECK_FALSE(knowledge_for(d, "cpp/x86-64-v4").empty());
}

TEST_CASE("the dominant bottleneck's entries come first") {
  memory::diagnosis d;
  d.bottleneck = "spills";
  d.also = {"compute"};
  const auto ids = knowledge_for(d, "cuda/sm_90a");
  REQUIRE(ids.size() >= 2);
  CHECK(ids[0] == "cuda-spills");
  CHECK(ids[1] == "cuda-compute");
  CHECK(knowledge_for(d, "cuda/sm_90a", 1).size() == 1);
}
