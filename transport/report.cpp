// report.md: what a session did, for people.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "transport/diagnosis_text.hpp"
#include "transport/result_documents.hpp"
#include "transport/result_table.hpp"
#include "transport/terminal_view.hpp"

namespace kernsmith::transport {
namespace {

constexpr std::size_t max_message_characters = 200;
constexpr std::size_t max_improvements_shown = 50;

/// One line of a table cell or a sentence: no line ends, no column marks, of bounded length.
std::string cell(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    if (c == '|') c = '/';
  }
  if (text.size() <= max_message_characters) return text;
  auto end = max_message_characters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + " ...";
}

std::string interval(const std::vector<double>& ci95) {
  return ci95.size() == 2 ? fmt::format("[{:.3f}, {:.3f}]", ci95[0], ci95[1]) : "-";
}

std::string axes_text(const memory::axis_values& axes) {
  std::string out;
  for (const auto& [name, extent] : axes) out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, extent);
  return out.empty() ? "-" : out;
}

std::string list_text(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// As it has to be typed.
std::string shell_word(const std::string& word) {
  if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%") == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string stop_text(const memory::session& s) {
  if (s.stopped_by == "target") return fmt::format("the speed-up asked for, {:.2f}x, was reached", s.stop_at);
  if (s.stopped_by == "budget") return fmt::format("the budget of {} evaluations was spent", s.budget);
  if (s.stopped_by == "time") return fmt::format("the time limit of {} was reached", duration_text(s.time_limit_s));
  if (s.stopped_by == "stall") return fmt::format("{} evaluations in a row brought nothing better", s.stall);
  if (s.stopped_by == "roofline") return "the machine can't go faster on this problem";
  if (s.stopped_by == "exhausted") return "everything the synthesizers can make was tried";
  if (s.stopped_by == "interrupted") return "it was interrupted; the same command with --resume goes on";
  return "it has not ended";
}

class report_writer {
 public:
  explicit report_writer(const session_records& records) : r_(records), s_(records.session), best_(best_of(records)) {}

  std::string write() {
    line("# {}: {}", cell(s_.problem_name), s_.target);
    write_result();
    write_asked();
    if (best_.candidate != nullptr) {
      write_workloads();
      write_limits();
      write_decisions();
      write_verification();
    }
    write_history();
    write_measurement();
    write_failures();
    write_notes();
    write_reproduction();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  void blank() { out_ += "\n"; }
  void section(std::string_view title) { line("\n## {}\n", title); }

  [[nodiscard]] std::string baseline_name() const { return s_.baselines.empty() ? "the baseline" : "`" + s_.baselines.front().name + "`"; }

  void write_result() {
    blank();
    if (best_.candidate == nullptr) {
      line("**Nothing verified faster than {} was found** in {} evaluations.", baseline_name(),
           result_document(r_)["evaluations"]["total"].get<std::size_t>());
    } else {
      const auto& e = *best_.evaluation;
      const bool shown_faster = e.ci95.size() == 2 && e.ci95[0] > 1;
      line("**{:.2f} times {} {}** (geometric mean over the workloads by weight; 95 % interval {}), verified on {} cases.{}", e.speedup,
           e.unit == "ns" ? "as fast as" : "fewer " + e.unit + " than", baseline_name(), interval(e.ci95), e.verification.cases,
           shown_faster ? "" : " The interval does not exclude 1, so it is **not shown to be faster**.");
      if (!r_.best_source.empty()) line("\nThe kernel: [`{}`]({}), candidate `{}`.", r_.best_source, r_.best_source, best_.candidate->id);
    }
    if (!r_.evaluations.empty() && s_.control.verdict != "no_difference") {
      line("\n**The timings are unproven**: the baseline measured against itself came out as '{}', not as 'no_difference'.",
           s_.control.verdict.empty() ? "not measured" : s_.control.verdict);
    }
  }

  void write_asked() {
    section("What was asked");
    line("| | |");
    line("| --- | --- |");
    line("| problem | {} (`{}`) |", cell(s_.problem_name), s_.problem);
    line("| target | {} |", s_.target);
    line("| policy, seed | {}, {} |", s_.policy, s_.seed);
    line("| synthesizers | {} |", cell(list_text(s_.synthesizers)));
    line("| budget | {} evaluations{}{}{} |", s_.budget, s_.time_limit_s > 0 ? ", at most " + duration_text(s_.time_limit_s) : "",
         s_.stop_at > 0 ? fmt::format(", until {:.2f}x", s_.stop_at) : "",
         s_.stall > 0 ? fmt::format(", until {} without a new best", s_.stall) : "");
    line("| stopped | {} |", stop_text(s_));
    line("| session | `{}`, {} of wall time |", s_.id, duration_text(s_.wall_s));
    if (const auto time = measuring_of(r_)) {
      line("| measuring | {:.0f} % of the {} since the first candidate was built; in kernels {:.0f} %{} |",
           100 * std::min(1.0, time->evaluating_s / time->span_s), duration_text(time->span_s), 100 * time->kernels_s / time->span_s,
           time->profiling_s > 0 ? fmt::format("; profiling another {:.0f} %", 100 * time->profiling_s / time->span_s) : "");
    }
  }

  void write_workloads() {
    section("The best, workload by workload");
    line("| workload | weight | {} | best | speed-up | 95 % interval | verdict |", cell(baseline_name()));
    line("| --- | ---: | ---: | ---: | ---: | --- | --- |");
    const std::string& unit = best_.evaluation->unit;
    for (const auto& w : best_.evaluation->workloads) {
      line("| {} | {:g} | {} | {} | {} | {} | {} |", cell(axes_text(w.axes)), w.weight, quantity_text(w.baseline_median_ns, unit),
           quantity_text(w.median_ns, unit), speedup_text(w.speedup), interval(w.ci95), w.verdict);
    }
    for (std::size_t i = 1; i < s_.baselines.size(); ++i) write_other_baseline(s_.baselines[i]);
  }

  /// By a profile where there is one, else by the roofline alone.
  void write_limits() {
    const auto& d = best_.evaluation->diagnosis;
    if (d.bottleneck.empty()) return;
    section("What limits it");
    line("**{}**{}.", cell(limit_text(d)),
         !d.confidence.empty() && d.roofline_fraction > 0 ? fmt::format(", at {:.0f} % of the roofline", 100 * d.roofline_fraction) : "");
    if (const auto failure = profiler_failure(d); !failure.empty()) line("\nThere is no profile: {}.", cell(failure));
    if (best_.evaluation->profile_blob.empty()) return;
    blank();
    for (const auto& e : d.evidence) line("- {}", cell(evidence_text(e)));
    if (!d.also.empty() && d.confidence != "unclear") line("- it also shows signs of {}", cell(list_text(d.also)));
    line("\nRead {}.", cell(means_text(d)));
    if (!r_.advice.empty()) {
      line("\nWhat to try next:\n");
      for (const auto& each : r_.advice) line("- {}", cell(each));
    }
    if (!s_.baselines.empty() && !s_.baselines.front().profile_blob.empty())
      line("\n{} is limited by {}.", baseline_name(), cell(limit_text(s_.baselines.front().diagnosis)));
  }

  /// Medians of the same session side by side; no interval, because the two were not measured in interleaved blocks.
  void write_other_baseline(const memory::baseline_timing& other) {
    const double speedup = speedup_over(*best_.evaluation, other);
    if (speedup > 0) line("\nAgainst `{}`: {:.2f}x (medians of the same session).", cell(other.name), speedup);
  }

  void write_decisions() {
    const auto& c = *best_.candidate;
    section("How the best is made");
    if (!c.decisions_text.empty()) line("{}\n", cell(c.decisions_text));
    if (!c.parameters.empty()) {
      line("| decision | value |");
      line("| --- | ---: |");
      for (const auto& [name, value] : c.parameters) line("| {} | {} |", cell(name), value);
      blank();
    }
    line("Made by {} ({}{}).", cell(c.synthesizer), c.kind, c.memory_mode.empty() ? "" : ", memory: " + c.memory_mode);
    if (!c.rationale.empty()) line("\nWhy: {}", cell(c.rationale));
    const auto lineage = lineage_of(c, r_.candidates);
    if (!lineage.empty()) line("\nIt descends from {}.", list_text(lineage));
  }

  void write_verification() {
    const auto& e = *best_.evaluation;
    section("How it was verified");
    line("- {} cases against the float64 reference: every workload, edge shapes, several seeds and contents that hurt.",
         e.verification.cases);
    line("- The largest error was {:.3g} of what is allowed ({:g}).", e.verification.max_error, e.verification.budget);
    line("- {} timed calls had fresh contents and had their outputs checked.", e.verification.timed_outputs);
    line("- The candidate ran in a process of its own, in the sandbox; the verdict was made outside of it.");
  }

  void write_history() {
    section("How the search went");
    const auto document = result_document(r_);
    std::vector<double> curve;
    for (const auto& step : document["history"]) curve.push_back(step["best_so_far"].get<double>());
    if (curve.empty()) return line("No candidate was evaluated.");
    constexpr int columns = 60;
    line("`{}` best so far over {} evaluations\n", sparkline(curve, columns, true), curve.size());
    write_improvements(document["history"]);
  }

  void write_improvements(const nlohmann::json& history) {
    std::vector<std::string> rows;
    double best = 0;
    for (std::size_t i = 0; i < r_.evaluations.size(); ++i) {
      const auto& e = r_.evaluations[i];
      if (e.outcome != "passed" || e.speedup <= best) continue;
      best = e.speedup;
      const auto made = std::find_if(r_.candidates.begin(), r_.candidates.end(), [&](const auto& c) { return c.id == e.candidate; });
      const bool known = made != r_.candidates.end();
      rows.push_back(fmt::format("| {} | {} | {} | `{}` | {} | {} |", i + 1,
                                 history[i]["wall_s"].is_null() ? "-" : duration_text(history[i]["wall_s"].get<double>()),
                                 speedup_text(e.speedup), e.candidate, known ? made->kind : "-",
                                 known ? cell(made->rationale.empty() ? made->decisions_text : made->rationale) : "-"));
    }
    if (rows.empty()) return line("No candidate passed.");
    line("| evaluation | after | speed-up | candidate | made by | why |");
    line("| ---: | ---: | ---: | --- | --- | --- |");
    // The last are the ones that matter.
    const auto first = rows.size() > max_improvements_shown ? rows.size() - max_improvements_shown : 0;
    for (std::size_t i = first; i < rows.size(); ++i) out_ += rows[i] + "\n";
  }

  void write_measurement() {
    const auto& f = s_.fingerprint;
    section("How it was measured");
    line("| | |");
    line("| --- | --- |");
    line("| device | {}, {} cores, {} |", cell(f.device), f.cores, f.isa);
    line("| compiler | {} `{}` |", cell(f.compiler), cell(f.flags));
    line("| system | {}, {} |", cell(f.os), cell(f.driver));
    line("| clocks | {} |", f.clocks.empty() ? "unknown" : cell(f.clocks));
    if (f.copy_gb_per_s > 0) line("| copy bandwidth here | {:.1f} GB/s |", f.copy_gb_per_s);
    if (f.peak_gflop_per_s > 0) line("| f32 peak here | {:.0f} GFLOP/s |", f.peak_gflop_per_s);
    const auto& control = s_.control;
    line("| control (the baseline against itself) | {} |",
         control.verdict.empty() ? "not measured"
                                 : fmt::format("{}, ratio {:.4f} {}", control.verdict, control.ratio, interval(control.ci95)));
    line(
        "\nCandidate and baseline ran in interleaved blocks, timed by a clock outside the candidate's process; intervals are bootstrapped "
        "over blocks.");
    if (best_.evaluation != nullptr && best_.evaluation->timing.status != "measured")
      line("\nTiming of the best: **{}**.", best_.evaluation->timing.status);
    if (!r_.evidence.empty()) line("\nSamples, logs and sources: [`{}`]({}).", r_.evidence, r_.evidence);
  }

  void write_failures() {
    if (r_.evaluations.empty()) return;
    section("What failed, and why");
    struct failure {
      std::int64_t count = 0;
      const memory::evaluation* first = nullptr;
    };
    std::map<std::string, failure> by_outcome;
    for (const auto& e : r_.evaluations) {
      if (e.outcome == "passed" || !e.duplicate_of.empty()) continue;
      auto& f = by_outcome[e.outcome];
      ++f.count;
      if (f.first == nullptr) f.first = &e;
    }
    if (by_outcome.empty()) return line("Nothing: every evaluation passed.");
    line("| outcome | times | first message | candidate |");
    line("| --- | ---: | --- | --- |");
    for (const auto& [outcome, f] : by_outcome) {
      const auto message = !f.first->detail.empty() ? f.first->detail : f.first->verification.first_failure;
      line("| {} | {} | {} | `{}` |", outcome, f.count, message.empty() ? "-" : cell(message), f.first->candidate);
    }
  }

  void write_notes() {
    auto notes = r_.notes;
    if (best_.candidate != nullptr) {
      for (const auto& note : best_.candidate->notes) {
        if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
      }
    }
    if (notes.empty()) return;
    section("Notes");
    for (const auto& note : notes) line("- {}", cell(note));
  }

  void write_reproduction() {
    section("How to reproduce");
    const auto path = shell_word(r_.problem_path.empty() ? s_.problem_name + ".toml" : r_.problem_path);
    line("```");
    line("kernsmith optimize {} --target {} --policy {} --seed {} --budget {}{}{}{}", path, s_.target, s_.policy, s_.seed, s_.budget,
         s_.time_limit_s > 0 ? fmt::format(" --time {:g}s", s_.time_limit_s) : "",
         s_.stop_at > 0 ? fmt::format(" --stop-at {:g}", s_.stop_at) : "", s_.stall > 0 ? fmt::format(" --stall {}", s_.stall) : "");
    if (!r_.best_source.empty()) line("kernsmith evaluate {} {} --target {}", path, r_.best_source, s_.target);
    line("kernsmith show {}", s_.id);
    line("```");
    if (!s_.warm_starts.empty()) {
      line(
          "\n{} warm start{} from earlier champions in the data directory took part; a search over an empty directory starts without them.",
          s_.warm_starts.size(), s_.warm_starts.size() == 1 ? "" : "s");
    }
  }

  const session_records& r_;
  const memory::session& s_;
  best_pair best_;
  std::string out_;
};

}  // namespace

std::string report_document(const session_records& records) {
  return report_writer(records).write();
}

}  // namespace kernsmith::transport
