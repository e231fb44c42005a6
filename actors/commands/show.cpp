// `kernsmith show ID` and `kernsmith diff A B`: what the store knows of one object, and how two candidates differ.
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "actors/commands/command_line.hpp"
#include "actors/commands/commands.hpp"
#include "actors/commands/line_diff.hpp"
#include "actors/commands/profile_text.hpp"
#include "memory/store.hpp"
#include "transport/diagnosis_text.hpp"

namespace kernsmith::actors {
namespace {

struct found_candidate {
  memory::candidate candidate;
  std::string source;
  std::vector<memory::evaluation> evaluations;
};

result<std::unique_ptr<memory::store>> open_store(const common_options& options) {
  return memory::store::open(data_directory(options), true);
}

result<found_candidate> find_candidate(const memory::store& store, const std::string& id) {
  auto candidate = store.get_candidate(id);
  if (!candidate) {
    // An evaluation's or a session's id stands for its candidate.
    if (const auto evaluation = store.get_evaluation(id))
      candidate = store.get_candidate(evaluation->candidate);
    else if (const auto session = store.get_session(id); session && !session->best.empty())
      candidate = store.get_candidate(session->best);
  }
  if (!candidate) return tl::unexpected(candidate.error());
  auto source = store.get_blob(candidate->source_blob);
  if (!source) return tl::unexpected(source.error());
  return found_candidate{*candidate, *source, store.evaluations_for_candidate(candidate->id)};
}

/// The evaluation whose diagnosis says most: the newest with a profile, else the newest.
const memory::evaluation* explained_of(const found_candidate& f) {
  const memory::evaluation* best = nullptr;
  for (const memory::evaluation& e : f.evaluations)
    if (best == nullptr || best->profile_blob.empty() || !e.profile_blob.empty()) best = &e;
  return best;
}

void print_candidate(const found_candidate& f) {
  const memory::candidate& c = f.candidate;
  fmt::print("candidate   {}\nsession     {} (move {})\ntarget      {}\nmade by     {}: {}, memory {}\ndecisions   {}\n", c.id, c.session,
             c.move, c.target, c.synthesizer, c.kind, c.memory_mode, c.decisions_text);
  for (const std::string& parent : c.parents) fmt::print("parent      {}\n", parent);
  if (!c.rationale.empty()) fmt::print("rationale   {}\n", c.rationale);
  for (const std::string& note : c.notes) fmt::print("note        {}\n", note);
  for (const memory::evaluation& e : f.evaluations) {
    fmt::print("evaluation  {}  {}{}", e.id, e.outcome, e.detail.empty() ? "" : " (" + e.detail + ")");
    if (e.speedup > 0) fmt::print("  {:.2f}x ({} effort, {})", e.speedup, e.effort, e.timing.status);
    fmt::print("\n");
  }
  if (const memory::evaluation* explained = explained_of(f)) {
    const std::string failure = transport::profiler_failure(explained->diagnosis);
    if (const std::string text = diagnosis_text(explained->diagnosis); !text.empty())
      fmt::print("\n{}{:<14}{}\n", text, "read", transport::means_text(explained->diagnosis));
    else if (const std::string limit = transport::limit_text(explained->diagnosis); !limit.empty())
      fmt::print("limited by  {}{}\n", limit, failure.empty() ? "" : " (no profile: " + failure + ")");
  }
  fmt::print("\n{}", f.source);
}

void print_session(const memory::store& store, const memory::session& s) {
  fmt::print("session     {}\nproblem     {} ({})\ntarget      {}\npolicy      {}, seed {}, budget {}\nstate       {}{}\n", s.id,
             s.problem_name, s.problem.substr(0, 12), s.target, s.policy, s.seed, s.budget, s.state,
             s.stopped_by.empty() ? "" : ", stopped by " + s.stopped_by);
  if (!s.best.empty()) fmt::print("best        {}  {:.2f}x\n", s.best, s.best_speedup);
  const auto evaluations = store.evaluations_of(s.id);
  for (const memory::baseline_timing& b : s.baselines)
    if (!b.profile_blob.empty()) fmt::print("limited by  {} ({})\n", transport::limit_text(b.diagnosis), b.name);
  for (const memory::evaluation& e : evaluations)
    if (!e.profile_blob.empty() && e.duplicate_of.empty() && (e.effort == "final" || e.candidate != s.best))
      fmt::print("limited by  {} ({})\n", transport::limit_text(e.diagnosis), e.candidate);
  fmt::print("\n{:>5}  {:18} {:14} {:>9}  {}\n", "move", "candidate", "outcome", "speed-up", "decisions");
  const auto candidates = store.candidates_of(s.id);
  for (const memory::evaluation& e : evaluations) {
    const auto c = std::find_if(candidates.begin(), candidates.end(), [&](const memory::candidate& x) { return x.id == e.candidate; });
    fmt::print("{:>5}  {:18} {:14} {:>9}  {}\n", c == candidates.end() ? -1 : c->move, e.candidate,
               e.duplicate_of.empty() ? e.outcome : "duplicate", e.speedup > 0 ? fmt::format("{:.2f}x", e.speedup) : "-",
               c == candidates.end() ? "" : c->decisions_text);
  }
}

int run_show(const common_options& options, const std::string& id) {
  const auto store = open_store(options);
  if (!store) return report_error(store.error());
  if (const auto session = (*store)->get_session(id)) {
    if (options.json) return write_json(options, nlohmann::json(*session)) ? exit_done : exit_missing_here;
    print_session(**store, *session);
    return exit_done;
  }
  const auto found = find_candidate(**store, id);
  if (!found) return report_error(found.error());
  if (options.json) {
    nlohmann::json document = found->candidate;
    document["source"] = found->source;
    document["evaluations"] = found->evaluations;
    document["profile"] = nullptr;
    if (const memory::evaluation* explained = explained_of(*found); explained != nullptr && !explained->profile_blob.empty())
      if (const auto stored = (*store)->get_blob(explained->profile_blob))
        document["profile"] = nlohmann::json::parse(*stored, nullptr, false);
    return write_json(options, document) ? exit_done : exit_missing_here;
  }
  print_candidate(*found);
  return exit_done;
}

int run_diff(const common_options& options, const std::string& a, const std::string& b) {
  const auto store = open_store(options);
  if (!store) return report_error(store.error());
  const auto left = find_candidate(**store, a);
  if (!left) return report_error(left.error());
  const auto right = find_candidate(**store, b);
  if (!right) return report_error(right.error());
  nlohmann::json decisions = nlohmann::json::object();
  for (const auto& [name, value] : left->candidate.parameters) {
    const auto other = right->candidate.parameters.find(name);
    if (other == right->candidate.parameters.end() || other->second != value)
      decisions[name] = {value, other == right->candidate.parameters.end() ? nlohmann::json() : nlohmann::json(other->second)};
  }
  for (const auto& [name, value] : right->candidate.parameters)
    if (!left->candidate.parameters.count(name)) decisions[name] = {nullptr, value};
  const std::string text = line_diff(left->source, right->source, left->candidate.id, right->candidate.id);
  if (options.json)
    return write_json(options, {{"a", left->candidate.id}, {"b", right->candidate.id}, {"decisions", decisions}, {"diff", text}})
               ? exit_done
               : exit_missing_here;
  for (const auto& [name, values] : decisions.items()) fmt::print("{}: {} -> {}\n", name, values[0].dump(), values[1].dump());
  fmt::print("{}", text.empty() ? "the sources are the same\n" : text);
  return exit_done;
}

}  // namespace

command_body add_show(CLI::App& program) {
  auto options = std::make_shared<common_options>();
  auto id = std::make_shared<std::string>();
  CLI::App* command = program.add_subcommand("show", "Show a session, candidate or evaluation by its id or a unique beginning of it");
  command->footer("Example: kernsmith show cand-3f2a");
  command->add_option("ID", *id, "Session, candidate or evaluation")->required();
  add_common_options(*command, *options);
  return [options, id] { return run_show(*options, *id); };
}

command_body add_diff(CLI::App& program) {
  auto options = std::make_shared<common_options>();
  auto ids = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App* command = program.add_subcommand("diff", "Show how two candidates differ: decisions, then sources");
  command->footer("Example: kernsmith diff cand-3f2a cand-91bc");
  command->add_option("A", ids->first, "Candidate, or a session (its best)")->required();
  command->add_option("B", ids->second, "Candidate, or a session (its best)")->required();
  add_common_options(*command, *options);
  return [options, ids] { return run_diff(*options, ids->first, ids->second); };
}

}  // namespace kernsmith::actors
