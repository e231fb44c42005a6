// `kernsmith knowledge list | show ID`: what the program knows about making kernels fast.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "actors/commands/command_line.hpp"
#include "actors/commands/commands.hpp"
#include "agents/diagnosis/bottleneck.hpp"
#include "agents/knowledge/library.hpp"

namespace kernsmith::actors {
namespace {

struct knowledge_options {
  common_options common;
  std::string id, target, bottleneck;
  CLI::App* show = nullptr;
};

nlohmann::json document_of(const agents::knowledge_entry& e, bool whole) {
  nlohmann::json j = {
      {"id", e.id},        {"title", e.title}, {"applies_to", e.applies_to}, {"bottlenecks", e.bottlenecks}, {"operators", e.operators},
      {"source", e.source}};
  if (whole) j["body"] = e.body;
  return j;
}

bool wanted(const agents::knowledge_entry& e, const knowledge_options& options) {
  if (!options.target.empty() && !e.applies(options.target)) return false;
  return options.bottleneck.empty() || std::find(e.bottlenecks.begin(), e.bottlenecks.end(), options.bottleneck) != e.bottlenecks.end();
}

int list_entries(const knowledge_options& options) {
  if (!options.bottleneck.empty() && !agents::bottleneck_named(options.bottleneck)) {
    std::string words;
    for (std::size_t i = 0; i < agents::bottleneck_count; ++i)
      words += fmt::format("{}{}", words.empty() ? "" : ", ", agents::name_of(static_cast<agents::bottleneck>(i)));
    return report_error({fault::bad_request, fmt::format("'{}' is no bottleneck; there are: {}", options.bottleneck, words)});
  }
  nlohmann::json entries = nlohmann::json::array();
  for (const agents::knowledge_entry& e : agents::all_knowledge()) {
    if (!wanted(e, options)) continue;
    if (!options.common.json || !options.common.json_file.empty())
      fmt::print("{:26} {:12} {:22} {}\n", e.id, fmt::format("{}", fmt::join(e.applies_to, ",")),
                 fmt::format("{}", fmt::join(e.bottlenecks, ",")), e.title);
    entries.push_back(document_of(e, false));
  }
  if (options.common.json && !write_json(options.common, entries)) return exit_missing_here;
  return entries.empty() ? exit_nothing_found : exit_done;
}

int show_entry(const knowledge_options& options) {
  std::vector<const agents::knowledge_entry*> found;
  for (const agents::knowledge_entry& e : agents::all_knowledge()) {
    if (e.id == options.id) found = {&e};
    if (e.id == options.id) break;
    if (e.id.starts_with(options.id)) found.push_back(&e);
  }
  if (found.size() != 1) {
    return report_error({fault::bad_request, fmt::format("{} of the entries begin with '{}'; see kernsmith knowledge list",
                                                         found.empty() ? "none" : "several", options.id)});
  }
  const agents::knowledge_entry& e = *found.front();
  if (options.common.json) return write_json(options.common, document_of(e, true)) ? exit_done : exit_missing_here;
  fmt::print("{}\n\n{}\nfor           {}\n", e.title, e.body, fmt::join(e.applies_to, ", "));
  if (!e.bottlenecks.empty()) fmt::print("bottlenecks   {}\n", fmt::join(e.bottlenecks, ", "));
  fmt::print("source        {}\n", e.source);
  return exit_done;
}

}  // namespace

command_body add_knowledge(CLI::App& program) {
  auto options = std::make_shared<knowledge_options>();
  CLI::App* command = program.add_subcommand("knowledge", "What is known about making kernels fast: list the entries, show one");
  command->require_subcommand(1);
  command->footer("Example: kernsmith knowledge list --bottleneck latency");
  CLI::App* list = command->add_subcommand("list", "One line for each entry");
  list->add_option("--target", options->target, "Entries for this language or target only");
  list->add_option("--bottleneck", options->bottleneck, "Entries for this bottleneck only");
  add_common_options(*list, options->common);
  options->show = command->add_subcommand("show", "One entry, by its id or the beginning of it");
  options->show->add_option("ID", options->id, "Entry")->required();
  options->show->footer("Example: kernsmith knowledge show cpu-latency");
  add_common_options(*options->show, options->common);
  return [options] { return options->show->parsed() ? show_entry(*options) : list_entries(*options); };
}

}  // namespace kernsmith::actors
