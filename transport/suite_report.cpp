// A suite's results for people: lines for a terminal and a report in Markdown.
#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "transport/suite_documents.hpp"
#include "transport/terminal_view.hpp"

namespace kernsmith::transport {
namespace {

constexpr std::size_t max_reason_characters = 240;

// A cell of a table or the rest of a line: no line ends, no column marks, of bounded length.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    if (c == '|') c = '/';
  }
  if (text.size() <= max_reason_characters) return text;
  auto end = max_reason_characters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + " ...";
}

std::string interval(const std::vector<double>& ci95) {
  return ci95.size() == 2 ? fmt::format("[{:.2f}, {:.2f}]", ci95[0], ci95[1]) : "-";
}

std::string stem(const suite_entry& entry) {
  return std::filesystem::path(entry.file).stem().string();
}

std::string share(std::int64_t part, std::int64_t of) {
  return of > 0 ? fmt::format("{:.2f}", static_cast<double>(part) / static_cast<double>(of)) : "-";
}

std::vector<const suite_entry*> entries_where(const suite_run& run, const std::string& target, const std::string& verdict) {
  std::vector<const suite_entry*> found;
  for (const suite_entry& entry : run.entries)
    if (entry.target == target && entry.status == suite_status::correct && entry.verdict == verdict) found.push_back(&entry);
  std::stable_sort(found.begin(), found.end(), [](const suite_entry* a, const suite_entry* b) { return a->speedup > b->speedup; });
  return found;
}

using table_row = std::vector<std::string>;

// The table by category; the first row holds the titles.
std::vector<table_row> summary_rows(const std::vector<suite_summary>& summaries, const std::string& target) {
  table_row titles{"category", "problems", "correct"};
  for (const double p : fast_thresholds) titles.push_back(fmt::format("fast_{:g}", p));
  titles.insert(titles.end(), {"geomean", "least", "faster", "equal", "slower"});
  std::set<std::string> others;
  for (const suite_summary& s : summaries)
    if (s.target == target)
      for (const auto& [name, comparison] : s.over) others.insert(name);
  for (const std::string& name : others) titles.push_back("over " + name);
  std::vector<table_row> rows{titles};
  const auto add = [&](const suite_summary& s) {
    table_row row{s.category.empty() ? "all" : s.category, fmt::format("{}", s.problems), fmt::format("{}", s.correct)};
    for (const std::int64_t fast : s.fast) row.push_back(share(fast, s.problems));
    for (const double speedup : {s.geomean, s.least}) row.push_back(speedup_text(speedup));
    for (const std::int64_t count : {s.faster, s.no_difference, s.slower}) row.push_back(fmt::format("{}", count));
    for (const std::string& name : others) {
      const auto found = s.over.find(name);
      row.push_back(found == s.over.end() ? "-" : fmt::format("{} ({})", speedup_text(found->second.geomean), found->second.problems));
    }
    rows.push_back(row);
  };
  const suite_summary* all = nullptr;
  for (const suite_summary& s : summaries) {
    if (s.target != target) continue;
    if (s.category.empty())
      all = &s;
    else
      add(s);
  }
  if (all != nullptr) add(*all);
  return rows;
}

std::vector<std::string> aligned(const std::vector<table_row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const table_row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::vector<std::string> lines;
  for (const table_row& row : rows) {
    std::string line = fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t c = 1; c < row.size(); ++c) line += fmt::format("  {:>{}}", row[c], widths[c]);
    lines.push_back(line);
  }
  return lines;
}

std::string names_of(const std::vector<const suite_entry*>& entries) {
  std::vector<std::string> names;
  for (const suite_entry* entry : entries) names.push_back(fmt::format("{} {}", stem(*entry), speedup_text(entry->speedup)));
  return fmt::format("{}", fmt::join(names, ", "));
}

// One sentence that says what the table is counted in, refusals included.
std::string account(const suite_summary& all) {
  std::string text = fmt::format("{} of {} problems correct", all.correct, all.problems);
  if (all.refused > 0)
    text += fmt::format("; {} refused, which count as not correct (of the {} accepted: fast_1 {}, fast_1.5 {})", all.refused,
                        all.problems - all.refused, share(all.fast[0], all.problems - all.refused),
                        share(all.fast[2], all.problems - all.refused));
  return text;
}

std::vector<const suite_entry*> not_correct(const suite_run& run, const std::string& target) {
  std::vector<const suite_entry*> found;
  for (const suite_entry& entry : run.entries)
    if (entry.target == target && entry.status != suite_status::correct) found.push_back(&entry);
  std::stable_sort(found.begin(), found.end(), [](const suite_entry* a, const suite_entry* b) { return a->status < b->status; });
  return found;
}

const suite_summary& of_all(const std::vector<suite_summary>& summaries, const std::string& target) {
  return *std::find_if(summaries.begin(), summaries.end(),
                       [&](const suite_summary& s) { return s.target == target && s.category.empty(); });
}

}  // namespace

std::string entry_line(const suite_entry& entry) {
  if (entry.status != suite_status::correct)
    return fmt::format("{}: {}: {}", stem(entry), status_name(entry.status), one_line(entry.reason));
  return fmt::format("{}: {} {} {}, {} evaluations, {}", stem(entry), speedup_text(entry.speedup), interval(entry.ci95),
                     entry.verdict == "no_difference" ? "no difference" : entry.verdict, entry.evaluations, duration_text(entry.wall_s));
}

std::vector<std::string> suite_table(const suite_run& run) {
  const auto summaries = summarise(run);
  std::vector<std::string> lines;
  for (const std::string& target : run.targets) {
    lines.push_back(fmt::format("{} on {}", run.folder, target));
    for (const std::string& line : aligned(summary_rows(summaries, target))) lines.push_back(line);
    lines.push_back(account(of_all(summaries, target)));
    for (const auto& [verdict, title] : {std::pair{"faster", "faster"}, {"no_difference", "no difference"}, {"slower", "slower"}})
      if (const auto entries = entries_where(run, target, verdict); !entries.empty())
        lines.push_back(fmt::format("{}: {}", title, names_of(entries)));
    for (const suite_entry* entry : not_correct(run, target)) lines.push_back(entry_line(*entry));
  }
  return lines;
}

std::string suite_report(const suite_run& run) {
  const auto summaries = summarise(run);
  std::string out = fmt::format("# Suite {}\n\n", one_line(run.folder));
  const auto line = [&](const std::string& text) { out += text + "\n"; };
  line(fmt::format("Started {}, {}{}. Each `optimize` ran with `{}`.", run.started, run.finished ? "took " : "interrupted after ",
                   duration_text(run.wall_s), one_line(fmt::format("{}", fmt::join(run.arguments, " ")))));
  if (!run.sizes.empty()) line(fmt::format("Sizes: `{}` of sizes.toml.", one_line(run.sizes)));
  if (run.fingerprint.is_object()) line(fmt::format("Machine: {}.", one_line(run.fingerprint.value("device", std::string("unknown")))));
  for (const std::string& target : run.targets) {
    const suite_summary& all = of_all(summaries, target);
    line(fmt::format("\n## {}\n\n{}.\n", target, account(all)));
    const auto rows = summary_rows(summaries, target);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      line(fmt::format("| {} |", fmt::join(rows[r], " | ")));
      if (r > 0) continue;
      line(fmt::format("| --- |{}", [&] {
        std::string marks;
        for (std::size_t c = 1; c < rows[0].size(); ++c) marks += " ---: |";
        return marks;
      }()));
    }
    line(
        "\nfast_p is the share of all problems that are correct and more than p times as fast as the first baseline; geomean and least are "
        "of "
        "the correct ones. Faster and slower: the 95 % interval excludes 1 by more than the baseline differs from itself.");
    for (const auto& [verdict, title] : {std::pair{"faster", "Faster"}, {"no_difference", "No difference shown"}, {"slower", "Slower"}}) {
      const auto entries = entries_where(run, target, verdict);
      if (entries.empty()) continue;
      line(
          fmt::format("\n### {}\n\n| problem | speed-up | 95 % interval | over | other baselines | evaluations | time |\n| --- | ---: | "
                      "--- | --- | --- | ---: | "
                      "---: |",
                      title));
      for (const suite_entry* e : entries) {
        std::vector<std::string> over;
        for (const auto& [name, speedup] : e->over) over.push_back(fmt::format("{} {}", name, speedup_text(speedup)));
        line(fmt::format("| [{}]({}/report.md) | {} | {} | {} | {} | {} | {} |", stem(*e), e->folder, speedup_text(e->speedup),
                         interval(e->ci95), one_line(e->baseline), over.empty() ? "-" : one_line(fmt::format("{}", fmt::join(over, ", "))),
                         e->evaluations, duration_text(e->wall_s)));
      }
    }
    if (const auto entries = not_correct(run, target); !entries.empty()) {
      line("\n### Not correct\n\n| problem | | reason |\n| --- | --- | --- |");
      for (const suite_entry* e : entries) line(fmt::format("| {} | {} | {} |", stem(*e), status_name(e->status), one_line(e->reason)));
    }
  }
  return out;
}

}  // namespace kernsmith::transport
