#include "backends/harness/kept_answers.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <random>

#include "backends/cpp/unusual_pairs.hpp"

using namespace kernsmith::harness;

namespace {

/// Times around 1 with the noise of a machine that others use: a tenth of the calls take up to three times as long.
double noisy(std::mt19937& engine) {
  std::uniform_real_distribution<double> unit(0, 1);
  const double jitter = 0.97 + 0.06 * unit(engine);
  return unit(engine) < 0.1 ? jitter * (1 + 2 * unit(engine)) : jitter;
}

/// A machine with more to run than it has cores: calls take once or two and a half times as long, in runs of a few.
class overloaded {
 public:
  double operator()(std::mt19937& engine) {
    std::uniform_real_distribution<double> unit(0, 1);
    if (unit(engine) < 0.4) slow_ = !slow_;
    return (slow_ ? 2.5 : 1.0) * (0.97 + 0.06 * unit(engine));
  }

 private:
  bool slow_ = false;
};

/// Watches up to `pairs` pairs, and whatever trials they lead to. `ns` gives the kernel's time for a kind of contents; 0 as the other's:
/// none.
bool accused(std::mt19937& engine, int pairs, const std::function<double(renewal)>& ns, const std::function<double()>& other_ns) {
  kept_answers kept;
  for (int pair = 0; pair < pairs; ++pair) {
    do {
      const renewal kind = kept.next(engine());
      const double own = ns(kind);
      kept.add(kind, own, other_ns());
    } while (kept.on_trial());
    if (kept.saving()) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("kernels that remember nothing are not accused, whatever the noise") {
  std::mt19937 engine(7);
  int alone = 0, beside = 0, independent = 0;
  for (int kernel = 0; kernel < 4000; ++kernel) {
    alone += accused(
                 engine, 60, [&](renewal) { return noisy(engine); }, [] { return 0.0; })
                 ? 1
                 : 0;
    overloaded own, others;
    beside += accused(
                  engine, 60, [&](renewal) { return own(engine); }, [&] { return others(engine); })
                  ? 1
                  : 0;
    std::bernoulli_distribution slow(0.5);
    const auto either = [&] { return slow(engine) ? 2.5 : 1.0; };
    independent += accused(
                       engine, 60, [&](renewal) { return either(); }, either)
                       ? 1
                       : 0;
  }
  MESSAGE("accused of 4000: " << alone << " alone, " << beside << " and " << independent << " on an overloaded machine");
  CHECK(alone <= 1);
  CHECK(beside == 0);
  CHECK(independent == 0);
}

TEST_CASE("what slows both legs alike accuses nobody, what slows one leg is found") {
  std::mt19937 engine(11);
  double burst = 1;
  CHECK_FALSE(accused(
      engine, 30,
      [&](renewal kind) {
        burst = kind == renewal::whole ? 2.1 : 1.0;
        return burst * noisy(engine);
      },
      [&] { return burst; }));
  CHECK(accused(
      engine, 30, [&](renewal kind) { return (kind == renewal::whole ? 2.1 : 1.0) * noisy(engine); }, [] { return 1.0; }));
}

TEST_CASE("one that computes only what changed is found within twenty calls and a trial") {
  std::mt19937 engine(7);
  int found = 0;
  for (int kernel = 0; kernel < 1000; ++kernel) {
    const auto remembering = [&](renewal kind) { return (kind == renewal::whole ? 2.0 : 1.0) * noisy(engine); };
    found += accused(engine, 20, remembering, [&] { return noisy(engine); }) ? 1 : 0;
  }
  MESSAGE("found " << found << " of 1000");
  CHECK(found >= 900);
}

TEST_CASE("neither kind of call gets far ahead, and too few say nothing") {
  std::mt19937 engine(1);
  kept_answers kept;
  int whole = 0, part = 0;
  for (int pair = 0; pair < 100 && !kept.saving(); ++pair) {
    const renewal kind = kept.next(engine());
    REQUIRE(kind != renewal::part);
    (kind == renewal::whole ? whole : part) += 1;
    kept.add(kind, kind == renewal::whole ? 100 : 1);
    if (whole < 4 || part < 4) CHECK_FALSE(kept.on_trial());
    if (whole < 16 || part < 16) CHECK_FALSE(kept.saving());
    CHECK(std::abs(whole - part) <= 4);
  }
  CHECK(kept.saving().value_or(0) == doctest::Approx(100));
}

TEST_CASE("someone who wants to stop does not wait for the end of a trial") {
  kept_answers kept;
  std::mt19937_64 engine(5);
  std::atomic<bool> stop{false};
  int pairs = 0;
  const auto remembering = [&](renewal kind, timing_block& block) -> kernsmith::result<kernsmith::cpp::check_result> {
    block.candidate_ns.push_back(kind == renewal::whole ? 2000 : 1000);
    block.baseline_ns.push_back(1000);
    stop = kept.on_trial();
    ++pairs;
    return kernsmith::cpp::check_result{};
  };
  for (int block = 0; block < 100; ++block) {
    const auto watched = kernsmith::cpp::unusual_pairs(
        kept, &stop, "here", [&] { return engine(); }, remembering);
    if (watched) {
      REQUIRE(watched->ok());
      continue;
    }
    CHECK(watched.error().kind == kernsmith::fault::interrupted);
    CHECK(kept.on_trial());
    CHECK(pairs < 24);  // a trial takes more
    return;
  }
  FAIL("no trial began");
}
