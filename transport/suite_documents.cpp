#include "transport/suite_documents.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace kernsmith::transport {
namespace {

constexpr std::array<std::pair<suite_status, const char*>, 6> status_names{{{suite_status::correct, "correct"},
                                                                            {suite_status::unverified, "unverified"},
                                                                            {suite_status::refused, "refused"},
                                                                            {suite_status::missing, "missing"},
                                                                            {suite_status::failed, "failed"},
                                                                            {suite_status::interrupted, "interrupted"}}};

// Logarithms of speed-ups, added up.
struct log_mean {
  double sum = 0;
  std::int64_t count = 0;
  void add(double speedup) {
    if (speedup <= 0) return;
    sum += std::log(speedup);
    ++count;
  }
  [[nodiscard]] double value() const { return count == 0 ? 0 : std::exp(sum / static_cast<double>(count)); }
};

void count_fast(double speedup, std::array<std::int64_t, fast_thresholds.size()>& fast) {
  for (std::size_t i = 0; i < fast_thresholds.size(); ++i)
    if (speedup > fast_thresholds[i]) ++fast[i];
}

suite_summary summary_of(const std::vector<const suite_entry*>& entries, const std::string& target, const std::string& category) {
  suite_summary s;
  s.target = target;
  s.category = category;
  log_mean mean;
  std::map<std::string, log_mean> means;
  for (const suite_entry* entry : entries) {
    ++s.problems;
    if (entry->status == suite_status::refused || entry->status == suite_status::missing) ++s.refused;
    if (entry->status != suite_status::correct) continue;
    ++s.correct;
    s.least = s.correct == 1 ? entry->speedup : std::min(s.least, entry->speedup);
    mean.add(entry->speedup);
    count_fast(entry->speedup, s.fast);
    if (entry->verdict == "faster") ++s.faster;
    if (entry->verdict == "slower") ++s.slower;
    if (entry->verdict == "no_difference") ++s.no_difference;
    for (const auto& [name, speedup] : entry->over) {
      auto& other = s.over[name];
      ++other.problems;
      count_fast(speedup, other.fast);
      means[name].add(speedup);
    }
  }
  s.geomean = mean.value();
  for (auto& [name, other] : s.over) other.geomean = means[name].value();
  return s;
}

// The baseline against itself may differ by this factor on this machine; a gain within it shows nothing.
double control_noise(const nlohmann::json& document) {
  const auto& control = document.contains("control") ? document["control"] : nlohmann::json();
  if (!control.is_object() || !control.contains("ci95") || !control["ci95"].is_array() || control["ci95"].size() != 2) return 1;
  const double lo = control["ci95"][0].get<double>(), hi = control["ci95"][1].get<double>();
  return lo > 0 ? std::max({1.0, hi, 1 / lo}) : 1;
}

std::string verdict_of(const std::vector<double>& ci95, double noise) {
  if (ci95.size() != 2) return "no_difference";
  if (ci95[0] > noise) return "faster";
  if (ci95[1] < 1 / noise) return "slower";
  return "no_difference";
}

// Both baselines were measured on the same contents, so their ratio carries a speed-up over one to the other.
double speedup_over(const nlohmann::json& best, const nlohmann::json& first, const nlohmann::json& other) {
  double sum = 0, weights = 0;
  for (const auto& workload : best["workloads"]) {
    const auto median = [&](const nlohmann::json& baseline) {
      for (const auto& w : baseline["workloads"])
        if (w["axes"] == workload["axes"]) return w["median_ns"].get<double>();
      return 0.0;
    };
    const double to = median(other), from = median(first), speedup = workload["speedup"].get<double>(),
                 weight = workload.value("weight", 1.0);
    if (to <= 0 || from <= 0 || speedup <= 0) return 0;
    sum += weight * std::log(speedup * to / from);
    weights += weight;
  }
  return weights > 0 ? std::exp(sum / weights) : 0;
}

}  // namespace

std::string status_name(suite_status status) {
  for (const auto& [value, name] : status_names)
    if (value == status) return name;
  return "failed";
}

suite_status status_named(const std::string& name) {
  for (const auto& [value, known] : status_names)
    if (known == name) return value;
  return suite_status::failed;
}

void read_result(const nlohmann::json& document, suite_entry& entry) {
  entry.target = document.value("target", entry.target);
  entry.evaluations = document["evaluations"].value("total", std::int64_t{0});
  entry.stopped_by = document["stopped_by"].is_string() ? document["stopped_by"].get<std::string>() : "";
  if (document["baseline"].is_object()) entry.baseline = document["baseline"]["name"].get<std::string>();
  const auto& best = document["best"];
  if (document.value("state", "") == "interrupted") {
    entry.status = suite_status::interrupted;
    entry.reason = "interrupted";
  } else if (!best.is_object()) {
    entry.status = suite_status::unverified;
    std::string outcomes;
    for (const auto& [name, count] : document["evaluations"]["by_outcome"].items())
      outcomes += (outcomes.empty() ? "" : ", ") + std::to_string(count.get<std::int64_t>()) + " " + name;
    entry.reason = "no candidate was verified" + (outcomes.empty() ? std::string() : ": " + outcomes);
  } else {
    entry.status = suite_status::correct;
    entry.reason.clear();
    entry.candidate = best["candidate"].get<std::string>();
    entry.speedup = best["speedup"]["geomean"].get<double>();
    if (best["speedup"]["ci95"].is_array()) entry.ci95 = best["speedup"]["ci95"].get<std::vector<double>>();
    entry.verdict = verdict_of(entry.ci95, control_noise(document));
    for (const auto& other : document["other_baselines"])
      if (const double speedup = speedup_over(best, document["baseline"], other); speedup > 0)
        entry.over[other["name"].get<std::string>()] = speedup;
  }
}

std::vector<suite_summary> summarise(const suite_run& run) {
  std::vector<suite_summary> summaries;
  for (const std::string& target : run.targets) {
    std::vector<const suite_entry*> all;
    std::map<std::string, std::vector<const suite_entry*>> by_category;
    for (const suite_entry& entry : run.entries) {
      if (entry.target != target || entry.status == suite_status::interrupted) continue;
      all.push_back(&entry);
      by_category[entry.category].push_back(&entry);
    }
    summaries.push_back(summary_of(all, target, ""));
    for (const auto& [category, entries] : by_category) summaries.push_back(summary_of(entries, target, category));
  }
  return summaries;
}

nlohmann::json entry_document(const suite_entry& entry) {
  nlohmann::json j{{"file", entry.file},
                   {"category", entry.category},
                   {"target", entry.target},
                   {"status", status_name(entry.status)},
                   {"reason", entry.reason.empty() ? nlohmann::json() : nlohmann::json(entry.reason)},
                   {"candidate", entry.candidate.empty() ? nlohmann::json() : nlohmann::json(entry.candidate)},
                   {"baseline", entry.baseline.empty() ? nlohmann::json() : nlohmann::json(entry.baseline)},
                   {"speedup", entry.speedup > 0 ? nlohmann::json(entry.speedup) : nlohmann::json()},
                   {"ci95", entry.ci95.size() == 2 ? nlohmann::json(entry.ci95) : nlohmann::json()},
                   {"verdict", entry.verdict.empty() ? nlohmann::json() : nlohmann::json(entry.verdict)},
                   {"over", entry.over},
                   {"evaluations", entry.evaluations},
                   {"stopped_by", entry.stopped_by.empty() ? nlohmann::json() : nlohmann::json(entry.stopped_by)},
                   {"wall_s", entry.wall_s},
                   {"folder", entry.folder}};
  return j;
}

suite_entry entry_of(const nlohmann::json& document) {
  const auto text = [&](const char* key) { return document[key].is_string() ? document[key].get<std::string>() : std::string(); };
  suite_entry entry;
  entry.file = text("file");
  entry.category = text("category");
  entry.target = text("target");
  entry.status = status_named(text("status"));
  entry.reason = text("reason");
  entry.candidate = text("candidate");
  entry.baseline = text("baseline");
  entry.speedup = document["speedup"].is_number() ? document["speedup"].get<double>() : 0;
  if (document["ci95"].is_array()) entry.ci95 = document["ci95"].get<std::vector<double>>();
  entry.verdict = text("verdict");
  entry.over = document["over"].get<std::map<std::string, double>>();
  entry.evaluations = document["evaluations"].get<std::int64_t>();
  entry.stopped_by = text("stopped_by");
  entry.wall_s = document["wall_s"].get<double>();
  entry.folder = text("folder");
  return entry;
}

nlohmann::json suite_document(const suite_run& run) {
  const auto shares = [](const std::array<std::int64_t, fast_thresholds.size()>& fast, std::int64_t of) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t i = 0; i < fast_thresholds.size(); ++i)
      list.push_back({{"p", fast_thresholds[i]},
                      {"problems", fast[i]},
                      {"share", of > 0 ? nlohmann::json(static_cast<double>(fast[i]) / static_cast<double>(of)) : nlohmann::json()}});
    return list;
  };
  nlohmann::json summaries = nlohmann::json::array();
  for (const suite_summary& s : summarise(run)) {
    nlohmann::json over = nlohmann::json::object();
    for (const auto& [name, other] : s.over)
      over[name] = {{"problems", other.problems},
                    {"geomean", other.geomean > 0 ? nlohmann::json(other.geomean) : nlohmann::json()},
                    {"fast", shares(other.fast, other.problems)}};
    summaries.push_back({{"target", s.target},
                         {"category", s.category.empty() ? nlohmann::json() : nlohmann::json(s.category)},
                         {"problems", s.problems},
                         {"correct", s.correct},
                         {"refused", s.refused},
                         {"fast", shares(s.fast, s.problems)},
                         {"fast_of_accepted", shares(s.fast, s.problems - s.refused)},
                         {"geomean", s.geomean > 0 ? nlohmann::json(s.geomean) : nlohmann::json()},
                         {"least", s.least > 0 ? nlohmann::json(s.least) : nlohmann::json()},
                         {"faster", s.faster},
                         {"slower", s.slower},
                         {"no_difference", s.no_difference},
                         {"over", over}});
  }
  nlohmann::json entries = nlohmann::json::array();
  for (const suite_entry& entry : run.entries) entries.push_back(entry_document(entry));
  return {{"schema", "kernsmith.suite/1"},
          {"folder", run.folder},
          {"targets", run.targets},
          {"sizes", run.sizes.empty() ? nlohmann::json() : nlohmann::json(run.sizes)},
          {"arguments", run.arguments},
          {"started", run.started},
          {"state", run.finished ? "finished" : "interrupted"},
          {"wall_s", run.wall_s},
          {"fingerprint", run.fingerprint},
          {"summaries", summaries},
          {"entries", entries}};
}

}  // namespace kernsmith::transport
