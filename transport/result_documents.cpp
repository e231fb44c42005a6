#include "transport/result_documents.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>
#include <set>

namespace kernsmith::transport {
namespace {

using nlohmann::json;

/// Seconds since 1970 of an RFC 3339 UTC time; nothing when it is not one.
std::optional<double> seconds_of(const std::string& time) {
  std::tm utc{};
  double seconds = 0;
  if (std::sscanf(time.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &seconds) !=
      6)
    return std::nullopt;
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  return static_cast<double>(::timegm(&utc)) + seconds;
}

/// Seconds from the first start of the session to `time`; null when the records don't say.
json seconds_into(const memory::session& session, const std::string& time) {
  const auto from = seconds_of(session.started), to = seconds_of(time);
  return from && to ? json(std::max(0.0, *to - *from)) : json();
}

/// Times are noted a little after what they are of.
constexpr double clock_slack_s = 2;

json null_if_empty(const std::vector<double>& interval) {
  return interval.empty() ? json() : json(interval);
}

/// The profiler's own failure, as the diagnosis tells it; null when there was none.
json failure_json(const memory::diagnosis& d) {
  for (const auto& m : d.missing) {
    if (m.tool == memory::profiler_itself) return m.reason;
  }
  return nullptr;
}

json baseline_json(const memory::baseline_timing& baseline) {
  json workloads = json::array();
  for (const auto& w : baseline.workloads) {
    workloads.push_back({{"axes", w.axes},
                         {"weight", w.weight},
                         {"median_ns", w.median_ns},
                         {"ci95_ns", null_if_empty(w.ci95_ns)},
                         {"samples", w.samples}});
  }
  return {{"name", baseline.name},
          {"metric", baseline.metric},
          {"unit", baseline.unit},
          {"workloads", std::move(workloads)},
          {"diagnosis", baseline.profile_blob.empty() ? json() : json(baseline.diagnosis)}};
}

json workload_json(const memory::workload_timing& w) {
  json out = w;
  out["ci95"] = null_if_empty(w.ci95);
  out["ci95_ns"] = null_if_empty(w.ci95_ns);
  return out;
}

json best_json(const session_records& records) {
  const auto [c, e] = best_of(records);
  if (c == nullptr) return nullptr;
  json workloads = json::array();
  for (const auto& w : e->workloads) workloads.push_back(workload_json(w));
  return {{"candidate", c->id},
          {"evaluation", e->id},
          {"language", c->language},
          {"source", records.best_source.empty() ? json() : json(records.best_source)},
          {"parameters", c->parameters},
          {"decisions", c->decisions_text},
          {"speedup", {{"geomean", e->speedup}, {"ci95", null_if_empty(e->ci95)}}},
          {"metric", e->metric},
          {"unit", e->unit},
          {"workloads", std::move(workloads)},
          {"verification", e->verification},
          {"timing", e->timing},
          {"diagnosis", e->diagnosis},
          {"lineage", lineage_of(*c, records.candidates)},
          {"rationale", c->rationale}};
}

json history_json(const session_records& records) {
  json out = json::array();
  double best = 0;
  for (const auto& e : records.evaluations) {
    if (e.outcome == "passed") best = std::max(best, e.speedup);
    out.push_back({{"evaluation", e.id},
                   {"candidate", e.candidate},
                   {"outcome", e.outcome},
                   {"effort", e.effort},
                   {"duplicate_of", e.duplicate_of.empty() ? json() : json(e.duplicate_of)},
                   {"speedup", e.speedup},
                   {"best_so_far", best},
                   {"wall_s", seconds_into(records.session, e.finished)}});
  }
  return out;
}

json profile_json(const memory::diagnosis& d, const std::string& blob, const std::string& candidate, const std::string& evaluation) {
  const auto null_if_none = [](const std::string& text) { return text.empty() ? json() : json(text); };
  return {{"candidate", null_if_none(candidate)}, {"evaluation", null_if_none(evaluation)},
          {"profile", null_if_none(blob)},        {"bottleneck", d.bottleneck},
          {"confidence", d.confidence},           {"failure", failure_json(d)}};
}

json profiling_json(const session_records& records) {
  const auto tried = [](const memory::diagnosis& d, const std::string& blob) { return !blob.empty() || !failure_json(d).is_null(); };
  json profiles = json::array();
  for (const auto& b : records.session.baselines) {
    if (tried(b.diagnosis, b.profile_blob)) profiles.push_back(profile_json(b.diagnosis, b.profile_blob, "", ""));
  }
  for (const auto& e : records.evaluations) {
    if (e.duplicate_of.empty() && tried(e.diagnosis, e.profile_blob))
      profiles.push_back(profile_json(e.diagnosis, e.profile_blob, e.candidate, e.id));
  }
  return {{"mode", records.session.profile}, {"wall_s", records.session.profile_s}, {"profiles", std::move(profiles)}};
}

json counts_json(const std::vector<memory::evaluation>& evaluations) {
  // What the budget counts; a final measurement repeats one of these, and a duplicate was not evaluated again.
  std::map<std::string, std::int64_t> by_outcome;
  std::int64_t total = 0, finals = 0, duplicates = 0;
  for (const auto& e : evaluations) {
    if (e.effort == "final") {
      ++finals;
    } else if (!e.duplicate_of.empty()) {
      ++duplicates;
    } else {
      ++total;
      ++by_outcome[e.outcome];
    }
  }
  return {{"total", total},
          {"passed", by_outcome.contains("passed") ? by_outcome.at("passed") : 0},
          {"by_outcome", by_outcome},
          {"duplicates", duplicates},
          {"final_measurements", finals}};
}

}  // namespace

best_pair best_of(const session_records& records) {
  best_pair out;
  if (records.session.best.empty()) return out;
  for (const auto& c : records.candidates) {
    if (c.id == records.session.best) out.candidate = &c;
  }
  for (const auto& e : records.evaluations) {
    if (e.candidate != records.session.best || e.outcome != "passed") continue;
    const bool quicker = out.evaluation != nullptr && out.evaluation->effort == "final" && e.effort != "final";
    if (!quicker) out.evaluation = &e;
  }
  return out.candidate != nullptr && out.evaluation != nullptr ? out : best_pair{};
}

std::vector<std::string> lineage_of(const memory::candidate& candidate, const std::vector<memory::candidate>& candidates) {
  std::map<std::string, const memory::candidate*> by_id;
  for (const auto& c : candidates) by_id.emplace(c.id, &c);
  std::vector<std::string> out = candidate.parents;
  std::set<std::string> seen{candidate.id};
  for (std::size_t i = 0; i < out.size();) {
    if (!seen.insert(out[i]).second) {
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (const auto found = by_id.find(out[i]); found != by_id.end())
      out.insert(out.end(), found->second->parents.begin(), found->second->parents.end());
    ++i;
  }
  return out;
}

std::optional<measuring_time> measuring_of(const session_records& records) {
  measuring_time time;
  std::optional<double> first_s;
  const auto started_s = seconds_of(records.session.started);
  for (const auto& e : records.evaluations) {
    const auto finished_s = seconds_of(e.finished);
    const double took_s = e.cost.kernel_s + e.cost.own_s;
    if (!finished_s || !e.duplicate_of.empty() || took_s <= 0) continue;
    first_s = std::min(first_s.value_or(*finished_s - took_s), *finished_s - took_s);
    time.evaluating_s += took_s;
    time.kernels_s += e.cost.kernel_s;
  }
  if (!first_s || !started_s) return std::nullopt;
  time.span_s = *started_s + records.session.wall_s - *first_s;
  time.profiling_s = records.session.profile_s;
  if (time.span_s <= 0 || time.evaluating_s + time.profiling_s > time.span_s + clock_slack_s) return std::nullopt;
  return time;
}

json result_document(const session_records& records) {
  const auto& s = records.session;
  json beside = json::array();
  for (std::size_t i = 1; i < s.baselines.size(); ++i) beside.push_back(baseline_json(s.baselines[i]));
  return {{"schema", "kernsmith.result/1"},
          {"session", s.id},
          {"problem", {{"name", s.problem_name}, {"hash", s.problem}}},
          {"target", s.target},
          {"fingerprint", s.fingerprint},
          {"seed", s.seed},
          {"policy", s.policy},
          {"synthesizers", s.synthesizers},
          {"budget", s.budget},
          {"state", s.state},
          {"stopped_by", s.stopped_by.empty() ? json() : json(s.stopped_by)},
          {"evaluations", counts_json(records.evaluations)},
          {"baseline", s.baselines.empty() ? json() : baseline_json(s.baselines.front())},
          {"other_baselines", std::move(beside)},
          {"control", {{"verdict", s.control.verdict}, {"ratio", s.control.ratio}, {"ci95", null_if_empty(s.control.ci95)}}},
          {"best", best_json(records)},
          {"history", history_json(records)},
          {"evidence", records.evidence.empty() ? json() : json(records.evidence)},
          {"notes", records.notes},
          {"profiling", profiling_json(records)},
          {"cost", s.cost},
          {"wall_s", s.wall_s}};
}

json evaluation_document(const memory::evaluation& evaluation) {
  json out = evaluation;
  out["ci95"] = null_if_empty(evaluation.ci95);
  out["workloads"] = json::array();
  for (const auto& w : evaluation.workloads) out["workloads"].push_back(workload_json(w));
  return out;
}

}  // namespace kernsmith::transport
