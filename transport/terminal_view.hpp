// What a person watching a session sees. Rendering is a pure function of a state; live_view draws it in place.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/records.hpp"

namespace kernsmith::transport {

struct view_state {
  std::string session, problem, target;
  std::string phase;  ///< "measuring the baseline", "searching", ...; may be empty
  std::int64_t evaluations = 0, budget = 0;
  double best_speedup = 0;                       ///< 0: none yet
  std::vector<double> best_ci95;                 ///< [lo, hi] or empty
  std::string best_decisions;                    ///< one line
  std::string bottleneck;                        ///< of the best
  double roofline_fraction = 0;                  ///< of the best; 0: unknown
  std::string last_outcome;                      ///< of the last evaluation, with what came of it: "passed 1.42x"
  std::map<std::string, std::int64_t> outcomes;  ///< outcome word -> count
  std::vector<double> best_so_far;               ///< after each evaluation; 0 before the first that passed
  std::vector<std::string> slots;                ///< what each evaluator slot is doing
  double elapsed_s = 0;
  std::optional<double> time_left_s;  ///< to the time limit, or an estimate when time_left_estimated
  bool time_left_estimated = false;
};

struct view_style {
  int width = 80;  ///< columns; no line is longer
  bool colour = false;
  bool unicode = true;  ///< false: plain ASCII
};

/// The view as lines without line ends.
[[nodiscard]] std::vector<std::string> render(const view_state& state, const view_style& style);

/// Values as a row of bars, at most `width` of them, the last value always shown; zeros are gaps.
[[nodiscard]] std::string sparkline(std::span<const double> values, int width, bool unicode);
/// "45 s", "3 m 20 s", "1 h 05 m".
[[nodiscard]] std::string duration_text(double seconds);
/// "1.42x"; "-" for 0.
[[nodiscard]] std::string speedup_text(double speedup);
/// Three significant digits of a time in the unit that fits; counts of another unit than "ns" whole, with the unit: "476,744 instructions".
[[nodiscard]] std::string quantity_text(double value, const std::string& unit);

/// One evaluation as a plain line: "[12/96] passed 1.42x, best 1.42x (new) cand-0a1b2c3d4e5f tile=64 ...".
struct evaluation_line {
  std::int64_t number = 0, budget = 0;
  std::string candidate, outcome, detail;
  double speedup = 0, best_speedup = 0;
  bool new_best = false;
};
[[nodiscard]] std::string plain_line(const evaluation_line& line);

/// Redraws a view in place on a terminal; elsewhere it writes lines only. Not thread-safe. Shows the cursor at all times and leaves the
/// last view standing.
class live_view {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds min_redraw_interval{125};

  /// `write` gets text for the terminal. `in_place`: it is a terminal that understands ANSI sequences.
  live_view(std::function<void(std::string_view)> write, bool in_place, view_style style);

  /// Draws, unless the last drawing is younger than min_redraw_interval: then tick() will.
  void update(const view_state& state, clock::time_point now);
  /// Draws what update() held back, when it is time.
  void tick(clock::time_point now);
  /// A line that stays, above the view.
  void say(std::string_view line);
  void resize(int width);
  /// Draws the last state for good.
  void finish();

 private:
  void draw();
  [[nodiscard]] std::string erase();

  std::function<void(std::string_view)> write_;
  bool in_place_;
  view_style style_;
  view_state state_;
  bool pending_ = false;
  std::size_t lines_drawn_ = 0;
  std::optional<clock::time_point> last_draw_;
};

}  // namespace kernsmith::transport
