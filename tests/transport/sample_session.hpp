// A session as it stands in a store after a search: one improvement after another, failures between them.
#pragma once

#include <fmt/format.h>

#include "transport/result_documents.hpp"

namespace kernsmith::test {

inline memory::workload_timing sample_workload(std::int64_t rows, double baseline_ns, double speedup) {
  memory::workload_timing w;
  w.axes = {{"B", rows}, {"N", 1024}};
  w.baseline_median_ns = baseline_ns;
  w.median_ns = speedup > 0 ? baseline_ns / speedup : baseline_ns;
  w.p10_ns = 0.98 * w.median_ns;
  w.p90_ns = 1.05 * w.median_ns;
  w.p99_ns = 1.2 * w.median_ns;
  w.ci95_ns = {0.99 * w.median_ns, 1.01 * w.median_ns};
  w.samples = 60;
  w.speedup = speedup;
  if (speedup > 0) {
    w.ci95 = {0.98 * speedup, 1.02 * speedup};
    w.verdict = "faster";
  }
  w.floor_ns = 0.1 * w.median_ns;
  return w;
}

inline memory::candidate made_candidate(int move, std::vector<std::string> parents, std::string kind) {
  memory::candidate c;
  c.id = fmt::format("cand-{:012x}", move);
  c.session = "sess-00000000000a";
  c.move = move;
  c.problem = "00112233445566778899aabbccddeeff";
  c.target = "cpp/x86-64-v4";
  c.synthesizer = "rules";
  c.parameters = {{"threads", 8}, {"unroll", move + 1}};
  c.decisions_text = fmt::format("8 threads, unroll {}", move + 1);
  c.parents = std::move(parents);
  c.kind = std::move(kind);
  c.memory_mode = "parent";
  c.rationale = fmt::format("unroll {} to hide latency", move + 1);
  return c;
}

inline memory::evaluation made_evaluation(int number, const std::string& outcome, double speedup) {
  memory::evaluation e;
  e.id = fmt::format("eval-{:012x}", number);
  e.session = "sess-00000000000a";
  e.candidate = fmt::format("cand-{:012x}", number);
  e.problem = "00112233445566778899aabbccddeeff";
  e.target = "cpp/x86-64-v4";
  e.outcome = outcome;
  e.effort = "search";
  e.finished = fmt::format("2026-01-02T03:04:{:02}.500Z", 10 + number);
  e.stage = outcome == "build_failed" ? "build" : outcome == "passed" ? "measure" : "verify";
  if (outcome == "passed") {
    e.speedup = speedup;
    e.ci95 = {0.98 * speedup, 1.02 * speedup};
    e.workloads = {sample_workload(4096, 2e6, speedup), sample_workload(37, 3e4, speedup)};
    e.verification = {24, 0.25, 1, 120, ""};
    e.timing = {"measured", "no_difference", 0, 0, e.workloads[0].median_ns};
    e.diagnosis = {"memory", 0.5, {{"bytes", 3.3e7}, {"gb_per_s", 20.5}}};
  }
  return e;
}

inline transport::session_records finished_session() {
  transport::session_records r;
  auto& s = r.session;
  s.id = "sess-00000000000a";
  s.problem = "00112233445566778899aabbccddeeff";
  s.problem_name = "softmax";
  s.target = "cpp/x86-64-v4";
  s.policy = "mcts";
  s.synthesizers = {"rules"};
  s.seed = 7;
  s.budget = 5;
  s.state = "finished";
  s.stopped_by = "budget";
  s.started = "2026-01-02T03:04:05.000Z";
  s.finished = "2026-01-02T03:05:05.000Z";
  s.wall_s = 60;
  s.fingerprint = {"Imaginary CPU", "x86-64-v4", "Linux 6.1", "g++ 12.2.0", "-O3 -march=native -fopenmp",
                   "Debian 12",     8,           "unknown",   40,           900};
  s.baselines = {{"naive", "time", "ns", {sample_workload(4096, 2e6, 0), sample_workload(37, 3e4, 0)}},
                 {"openblas", "time", "ns", {sample_workload(4096, 1e6, 0), sample_workload(37, 1.5e4, 0)}}};
  s.control = {"no_difference", 1.001, {0.995, 1.007}};
  r.candidates = {made_candidate(0, {}, "draft"), made_candidate(1, {"cand-000000000000"}, "mutate"),
                  made_candidate(2, {"cand-000000000001"}, "mutate"),
                  made_candidate(3, {"cand-000000000001", "cand-000000000000"}, "crossover"),
                  made_candidate(4, {"cand-000000000003"}, "mutate")};
  r.evaluations = {made_evaluation(0, "passed", 1.5), made_evaluation(1, "build_failed", 0), made_evaluation(2, "wrong_values", 0),
                   made_evaluation(3, "passed", 2.5), made_evaluation(4, "passed", 2)};
  r.evaluations[1].detail = "error: 'x' was not declared | in this scope\nnote: more";
  r.evaluations[2].verification.first_failure = "y[3] is 0.5, should be 0.25";
  s.best = "cand-000000000003";
  s.best_speedup = 2.5;
  r.best_source = "best.cpp";
  r.evidence = "evidence";
  r.problem_path = "softmax.toml";
  r.notes = {"statement 2 could not be fused: its reduction runs over another axis"};
  return r;
}

/// Killed while the baseline was measured: as little as a document can hold.
inline transport::session_records bare_session() {
  auto r = finished_session();
  r.session.state = "interrupted";
  r.session.stopped_by = "interrupted";
  r.session.best.clear();
  r.session.best_speedup = 0;
  r.session.baselines.clear();
  r.session.control = {};
  r.candidates.clear();
  r.evaluations.clear();
  r.best_source.clear();
  r.evidence.clear();
  r.notes.clear();
  return r;
}

}  // namespace kernsmith::test
