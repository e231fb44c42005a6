// The records the system produces. Each lists its fields once; JSON and CBOR (memory/codec.hpp) follow from the list.
// Times are RFC 3339 UTC strings; durations end in _s or _ns; ids are made by make_id().
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memory/json.hpp"

namespace kernsmith::memory {

using axis_values = std::map<std::string, std::int64_t>;

/// Everything a result depends on, besides the sources.
struct fingerprint {
  std::string device;    ///< CPU model
  std::string isa;       ///< x86-64-v4, ...
  std::string driver;    ///< kernel release
  std::string compiler;  ///< "g++ 12.2.0"
  std::string flags;
  std::string os;
  std::int64_t cores = 0;
  std::string clocks;           ///< governor or "unknown"
  double copy_gb_per_s = 0;     ///< measured copy bandwidth on `cores` cores (read + written bytes); 0: not measured
  double peak_gflop_per_s = 0;  ///< measured f32 FMA peak on `cores` cores
};
KS_RECORD(fingerprint, device, isa, driver, compiler, flags, os, cores, clocks, copy_gb_per_s, peak_gflop_per_s)

/// The numbers about an accelerator that schedule decisions are made from; all 0 on CPUs.
struct device_facts {
  std::string architecture;  ///< "sm_90a", "gfx90a"
  std::int64_t multiprocessors = 0, warp_size = 0;
  std::int64_t threads_per_multiprocessor = 0, registers_per_multiprocessor = 0;
  std::int64_t shared_bytes_per_multiprocessor = 0, shared_bytes_per_block = 0;  ///< the latter with the opt-in
  std::int64_t l2_bytes = 0;
  std::int64_t clock_khz = 0;  ///< highest
  double memory_gb_per_s = 0;  ///< by the data sheet or measured
};
KS_RECORD(device_facts, architecture, multiprocessors, warp_size, threads_per_multiprocessor, registers_per_multiprocessor,
          shared_bytes_per_multiprocessor, shared_bytes_per_block, l2_bytes, clock_khz, memory_gb_per_s)

/// Candidate or baseline on one workload. What ends in _ns is in nanoseconds, except where the record around it says another unit.
struct workload_timing {
  axis_values axes;
  double weight = 1;
  double median_ns = 0, p10_ns = 0, p90_ns = 0, p99_ns = 0;
  std::vector<double> ci95_ns;  ///< [lo, hi] of the median
  double cold_median_ns = 0;    ///< with cold caches; 0: not measured
  std::int64_t samples = 0;
  double baseline_median_ns = 0;
  double speedup = 0;        ///< baseline / candidate, 0: none
  std::vector<double> ci95;  ///< of the speed-up
  std::string verdict;       ///< faster | slower | no_difference | unresolved
  double floor_ns = 0;       ///< faster than this is impossible on this machine
};
KS_RECORD(workload_timing, axes, weight, median_ns, p10_ns, p90_ns, p99_ns, ci95_ns, cold_median_ns, samples, baseline_median_ns, speedup,
          ci95, verdict, floor_ns)

struct verification_summary {
  std::int64_t cases = 0;  ///< workloads and edge shapes x seeds x contents checked
  double max_error = 0;    ///< largest |y - r| / (atol + rtol |r|), so that 1 is the limit; other modes likewise
  double budget = 1;
  std::int64_t timed_outputs = 0;  ///< timed calls whose outputs were checked
  std::string first_failure;
};
KS_RECORD(verification_summary, cases, max_error, budget, timed_outputs, first_failure)

struct timing_summary {
  std::string status = "unmeasured";  ///< measured | quick | unmeasured | unproven
  std::string control;                ///< verdict of the session's A/A pair
  double device_ns = 0, event_ns = 0, wall_ns = 0;
};
KS_RECORD(timing_summary, status, control, device_ns, event_ns, wall_ns)

/// One number that a tool read or that follows from such numbers.
struct signal {
  double value = 0;
  std::string unit;  ///< "ns", "GB/s", "fraction", "per 1000 instructions"
  std::string tool;  ///< who says so: "ncu", "callgrind", "llvm-mca", "sampler", "outside clock", "definition", "ptxas"
};
KS_RECORD(signal, value, unit, tool)

/// A signal that speaks for or against a diagnosis.
struct diagnosis_evidence {
  std::string signal;
  double value = 0;
  std::string unit, tool;
  std::string threshold;  ///< what it was held against: "above 0.6"
  std::string says;       ///< for people
  bool against = false;   ///< speaks against the diagnosis
};
KS_RECORD(diagnosis_evidence, signal, value, unit, tool, threshold, says, against)

/// What could not be read here. Nothing is put in its place.
struct missing_tool {
  std::string tool, reason, remedy;
};
KS_RECORD(missing_tool, tool, reason, remedy)

/// The `tool` under which a profiler that failed as a whole is listed.
inline constexpr const char* profiler_itself = "profiler";

/// Why a candidate is as fast as it is. A roofline alone fills the first three fields; a profile (agents/diagnosis) all of them.
struct diagnosis {
  std::string bottleneck;  ///< roofline: memory | compute | overhead | unknown; profile: a word of agents/diagnosis/bottleneck.hpp
  double roofline_fraction = 0;
  std::map<std::string, double> signals;
  std::string confidence{};  ///< clear | likely | unclear; empty: a roofline alone
  std::vector<diagnosis_evidence> evidence{};
  std::vector<std::string> also{};   ///< other bottlenecks that the signals speak for, strongest first
  std::vector<std::string> tools{};  ///< that gave the signals
  std::vector<missing_tool> missing{};
  std::vector<std::string> knowledge{};  ///< ids of entries that speak to the bottleneck, nearest first
};
KS_RECORD(diagnosis, bottleneck, roofline_fraction, signals, confidence, evidence, also, tools, missing, knowledge)

/// Where the wall time of an evaluation went.
struct cost {
  double build_s = 0;   ///< compiler
  double kernel_s = 0;  ///< candidate, baseline and reference code
  double own_s = 0;     ///< everything else
};
KS_RECORD(cost, build_s, kernel_s, own_s)

/// A candidate that was also built with a sanitizer and run on its verification cases (`evaluate --strict`).
struct sanitizer_run {
  std::string name;           ///< AddressSanitizer | UndefinedBehaviorSanitizer | ThreadSanitizer
  std::int64_t cases = 0;     ///< calls that were examined; never 0 where `finding` is empty
  std::int64_t left_out = 0;  ///< cases that took too long under it
  std::string finding;        ///< its own first line, with the place in the source; empty: nothing found
  double seconds = 0;         ///< building and running
};
KS_RECORD(sanitizer_run, name, cases, left_out, finding, seconds)

/// One implementation.
struct candidate {
  std::string id;  ///< "cand-..." over problem, target, language and source
  std::string session;
  std::int64_t move = 0;  ///< number of the move in its session
  std::string problem;    ///< problem hash
  std::string target;
  std::string language = "cpp";
  std::string source_blob;                         ///< content hash of the source
  std::string synthesizer;                         ///< "rules" or the seed kernel's name
  std::map<std::string, std::int64_t> parameters;  ///< the decisions
  std::string decisions_text;                      ///< the same for people
  std::vector<std::string> parents;                ///< candidate ids
  std::string kind;                                ///< draft | warm_start | mutate | crossover | tune
  std::string memory_mode;
  std::string rationale;
  std::vector<std::string> notes;
  std::string created;
};
KS_RECORD(candidate, id, session, move, problem, target, language, source_blob, synthesizer, parameters, decisions_text, parents, kind,
          memory_mode, rationale, notes, created)

/// Schema kernsmith.evaluation/1.
struct evaluation {
  std::string schema = "kernsmith.evaluation/1";
  std::string id;
  std::string session;
  std::string candidate;
  std::string problem;
  std::string target;
  std::string outcome;  ///< EVALUATION.md's word
  std::string detail;
  std::string stage;         ///< build | verify | quick | measure: the last stage reached
  std::string effort;        ///< quick | search | final: how much was measured
  std::string rule;          ///< when cheating
  std::string duplicate_of;  ///< candidate whose machine code this is; its evaluation was reused
  std::string machine_code;  ///< hash of the loaded code
  double speedup = 0;        ///< geometric mean by weight; 0 unless passed
  std::vector<double> ci95;
  std::string metric = "time";  ///< what was measured: time, or the counter that an external target is judged by
  std::string unit = "ns";      ///< of every `..._ns` of `workloads` and of `timing`
  std::vector<workload_timing> workloads;
  verification_summary verification;
  std::vector<sanitizer_run> sanitizers;  ///< those that were asked for, in the order in which they ran; empty: none were
  timing_summary timing;
  kernsmith::memory::diagnosis diagnosis;
  kernsmith::memory::fingerprint fingerprint;
  kernsmith::memory::cost cost;
  std::string log_blob;      ///< compiler and runner output, bounded
  std::string profile_blob;  ///< kernsmith.profile/1 behind `diagnosis`, by content hash; empty: a roofline alone
  std::string evidence;      ///< path, when written
  std::string finished;
};
KS_RECORD(evaluation, schema, id, session, candidate, problem, target, outcome, detail, stage, effort, rule, duplicate_of, machine_code,
          speedup, ci95, metric, unit, workloads, verification, sanitizers, timing, diagnosis, fingerprint, cost, log_blob, profile_blob,
          evidence, finished)

/// The baseline as measured in one session.
struct baseline_timing {
  std::string name;
  std::string metric = "time", unit = "ns";  ///< as in evaluation
  std::vector<workload_timing> workloads;
  kernsmith::memory::diagnosis diagnosis{};  ///< when it was profiled
  std::string profile_blob{};                ///< as in evaluation
};
KS_RECORD(baseline_timing, name, metric, unit, workloads, diagnosis, profile_blob)

/// The A/A pair: the baseline against itself.
struct control_result {
  std::string verdict;  ///< must be no_difference
  double ratio = 0;
  std::vector<double> ci95;
};
KS_RECORD(control_result, verdict, ratio, ci95)

struct session {
  std::string id;
  std::string problem;  ///< hash
  std::string problem_name;
  std::string problem_blob;  ///< the file's text
  std::string target;
  std::string language = "cpp";  ///< of the candidates' sources
  std::string policy;
  std::vector<std::string> synthesizers;
  std::uint64_t seed = 0;
  std::int64_t budget = 0;
  double time_limit_s = 0;
  double stop_at = 0;
  std::int64_t stall = 0;
  std::int64_t lookahead = 1;
  std::string profile = "off";           ///< off | winner | best: what is profiled
  double profile_s = 0;                  ///< wall time that profiling took
  std::vector<std::string> warm_starts;  ///< JSON of each {from, generator, decisions}: fixed at start so that a resume sees the same
  std::string state = "running";         ///< running | finished | interrupted
  std::string stopped_by;
  std::string best;  ///< candidate id
  double best_speedup = 0;
  std::vector<baseline_timing> baselines;
  control_result control;
  kernsmith::memory::fingerprint fingerprint;
  kernsmith::memory::cost cost;  ///< of its device slot: compilers, kernels, and what Kernsmith itself took
  double wall_s = 0;
  std::string started, finished;
};
KS_RECORD(session, id, problem, problem_name, problem_blob, target, language, policy, synthesizers, seed, budget, time_limit_s, stop_at,
          stall, lookahead, profile, profile_s, warm_starts, state, stopped_by, best, best_speedup, baselines, control, fingerprint, cost,
          wall_s, started, finished)

/// A problem file as it was given, so that any stored result can be explained later.
struct problem_text {
  std::string hash, name, text;
};
KS_RECORD(problem_text, hash, name, text)

/// Best verified candidate for a problem x target x device.
struct champion {
  std::string problem, target, device;
  std::string candidate, evaluation, session;
  std::string problem_name;
  double speedup = 0;
  std::string since;
};
KS_RECORD(champion, problem, target, device, candidate, evaluation, session, problem_name, speedup, since)

/// What profilers read about one candidate on one workload, and what it means. Schema kernsmith.profile/1.
struct profile {
  std::string schema = "kernsmith.profile/1";
  std::string problem, target;  ///< problem hash; resolved target
  std::string candidate;        ///< id over problem, target, language and source
  axis_values axes;             ///< the workload that was timed
  axis_values profiled_axes;    ///< the shape that slow tools ran: smaller where the workload would have taken too long
  double time_ns = 0;           ///< outside clock, median of one call
  std::map<std::string, signal> signals;
  std::vector<missing_tool> missing;
  std::vector<std::string> notes;  ///< what was done otherwise than in a timed run
  std::string hot_code;            ///< assembly of the hottest block, or the slowest kernel's name
  kernsmith::memory::diagnosis diagnosis;
  kernsmith::memory::fingerprint fingerprint;
  std::string trigger{};  ///< in a session: improvement | winner | baseline; empty: it was asked for
  double wall_s = 0;      ///< that profiling took
  std::string finished;
};
KS_RECORD(profile, schema, problem, target, candidate, axes, profiled_axes, time_ns, signals, missing, notes, hot_code, diagnosis,
          fingerprint, trigger, wall_s, finished)

/// One line of the outbox; published as kernsmith.event/1.
struct event {
  std::string stream;     ///< epoch id of the store
  std::uint64_t seq = 0;  ///< 1, 2, 3 ... without gaps
  std::string topic;      ///< session.started, candidate.evaluated, champion.new, ...
  std::string time;
  nlohmann::json payload;
};
KS_RECORD(event, stream, seq, topic, time, payload)

}  // namespace kernsmith::memory
