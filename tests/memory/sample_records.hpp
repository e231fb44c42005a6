// Records that look like those of a real session.
#pragma once

#include <string>

#include <fmt/format.h>

#include "memory/records.hpp"

namespace kernsmith::test {

inline memory::session sample_session(const std::string& id, const std::string& problem = "problem-hash") {
  memory::session s;
  s.id = id;
  s.problem = problem;
  s.problem_name = "softmax";
  s.target = "cpp/x86-64-v4";
  s.policy = "mcts";
  s.synthesizers = {"rules"};
  s.seed = 7;
  s.budget = 32;
  s.started = "2026-01-02T03:04:05.006Z";
  return s;
}

inline memory::candidate sample_candidate(const std::string& id, const std::string& session, std::int64_t move) {
  memory::candidate c;
  c.id = id;
  c.session = session;
  c.move = move;
  c.problem = "problem-hash";
  c.target = "cpp/x86-64-v4";
  c.synthesizer = "rules";
  c.parameters = {{"unroll", 4}, {"threads", 8}};
  c.kind = "draft";
  c.memory_mode = "clean_slate";
  return c;
}

inline memory::evaluation sample_evaluation(const std::string& id, const std::string& session, const std::string& candidate,
                                            double speedup) {
  memory::evaluation e;
  e.id = id;
  e.session = session;
  e.candidate = candidate;
  e.problem = "problem-hash";
  e.target = "cpp/x86-64-v4";
  e.outcome = "passed";
  e.stage = "measure";
  e.speedup = speedup;
  e.ci95 = {speedup * 0.9, speedup * 1.1};
  memory::workload_timing w;
  w.axes = {{"B", 4096}, {"N", 1024}};
  w.median_ns = 1000;
  w.ci95_ns = {990, 1010};
  w.samples = 40;
  w.baseline_median_ns = 1000 * speedup;
  w.speedup = speedup;
  w.ci95 = {speedup * 0.9, speedup * 1.1};
  w.verdict = speedup > 1 ? "faster" : "slower";
  e.workloads = {w};
  return e;
}

}  // namespace kernsmith::test
