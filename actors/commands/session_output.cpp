#include "actors/commands/session_output.hpp"

#include <fmt/format.h>

#include "actors/commands/command_line.hpp"
#include "agents/knowledge/library.hpp"
#include "backends/cpp/reference_source.hpp"
#include "transport/result_documents.hpp"

namespace kernsmith::actors {
namespace {

// Everything that a sceptic needs to go over the claim again: the problem, the sources that it was checked and timed against, each final
// measurement with its raw samples, and the whole history.
result<void> write_evidence(const std::filesystem::path& folder, const session_report& report) {
  const auto put = [&](const std::string& name, const std::string& text) -> result<void> {
    return text.empty() ? result<void>{} : write_file(folder / name, text);
  };
  if (auto r = put("problem.toml", report.session.problem_blob); !r) return r;
  // The Python sources that the problem names, where it names them: it can be read again from here.
  std::vector<const source_file*> named;
  if (report.task->module) named.push_back(&report.task->module->source);
  if (report.task->reference && report.task->reference->language == "python") named.push_back(&*report.task->reference);
  for (const source_file* source : named) {
    const std::filesystem::path beside = source->path.lexically_relative(std::filesystem::absolute(report.task->path).parent_path());
    if (beside.empty() || *beside.begin() == "..") continue;
    if (auto r = put(beside.string(), source->text); !r) return r;
  }
  if (!report.task->statements.empty()) {
    if (const auto source = cpp::reference_source(*report.task))
      if (auto r = put("reference.cpp", *source); !r) return r;
    if (const auto source = cpp::naive_source(*report.task))
      if (auto r = put("baseline-naive.cpp", *source); !r) return r;
  } else if (report.task->reference) {
    if (auto r = put("reference.cpp", report.task->reference->text); !r) return r;
  }
  if (auto r = put("session.json", nlohmann::json(report.session).dump(2)); !r) return r;
  if (auto r = put("evaluations.json", nlohmann::json(report.history).dump(1)); !r) return r;
  if (auto r = put("candidates.json", nlohmann::json(report.candidates).dump(1)); !r) return r;
  for (const auto& [candidate, samples] : report.samples)
    if (auto r = put("samples/" + candidate + ".json", samples); !r) return r;
  return {};
}

}  // namespace

result<void> check_output(const std::filesystem::path& folder) {
  std::error_code ignored;
  const bool existed = std::filesystem::exists(folder, ignored);
  const std::filesystem::path probe = folder / ".kernsmith-probe";
  if (auto written = write_file(probe, "probe\n"); !written) return written;
  std::filesystem::remove(probe, ignored);
  if (!existed) std::filesystem::remove(folder, ignored);
  return {};
}

result<nlohmann::json> write_session(const std::filesystem::path& folder, const session_report& report, const std::string& problem_path) {
  transport::session_records records;
  records.session = report.session;
  records.candidates = report.candidates;
  records.evaluations = report.history;
  records.evidence = "evidence";
  records.problem_path = problem_path;
  const bool found = !report.best_source.empty();
  if (found) records.best_source = "best." + file_suffix_of(report.best_candidate.language);
  records.notes = report.best_candidate.notes;
  for (const std::string& id : report.best.diagnosis.knowledge)
    if (const agents::knowledge_entry* entry = agents::find_knowledge(id))
      records.advice.push_back(fmt::format("{} (`kernsmith knowledge show {}`)", entry->title, id));
  for (memory::evaluation& e : records.evaluations) e.evidence = (folder / "evidence").string();
  std::error_code ignored;
  if (!found)
    std::filesystem::remove(folder / ("best." + file_suffix_of(report.session.language)),
                            ignored);  // of an earlier run: it would belie the report
  nlohmann::json document = transport::result_document(records);
  if (found)
    if (auto r = write_file(folder / records.best_source, report.best_source); !r) return tl::unexpected(r.error());
  if (auto r = write_file(folder / "report.md", transport::report_document(records)); !r) return tl::unexpected(r.error());
  if (auto r = write_evidence(folder / "evidence", report); !r) return tl::unexpected(r.error());
  if (auto r = write_file(folder / "result.json", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"); !r)
    return tl::unexpected(r.error());
  return document;
}

}  // namespace kernsmith::actors
