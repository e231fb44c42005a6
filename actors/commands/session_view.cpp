#include "actors/commands/session_view.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace kernsmith::actors {
namespace {

bool terminal_is_capable() {
  const char* kind = std::getenv("TERM");
  return isatty(STDOUT_FILENO) && kind && std::strcmp(kind, "dumb") != 0;
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

bool terminal_is_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value && *value) return std::strstr(value, "UTF-8") || std::strstr(value, "utf8");
  return false;
}

transport::view_style style() {
  const char* plain = std::getenv("NO_COLOR");
  return {terminal_width(), !(plain && *plain), terminal_is_unicode()};
}

}  // namespace

session_view::session_view(bool quiet, double time_limit_s)
    : quiet_(quiet),
      live_(terminal_is_capable()),
      time_limit_s_(time_limit_s),
      view_(
          [](std::string_view text) {
            std::fwrite(text.data(), 1, text.size(), stdout);
            std::fflush(stdout);
          },
          live_, style()),
      started_(std::chrono::steady_clock::now()) {}

presenter_config session_view::presenter() {
  if (quiet_) return {};
  presenter_config config;
  config.show = [this](const progress_report& report) { show(report); };
  config.say = [this](const std::string& line) { view_.say(line); };
  if (live_) config.redraw = [this] { redraw(); };
  return config;
}

void session_view::show(const progress_report& report) {
  const auto now = std::chrono::steady_clock::now();
  if (report.session != state_.session) {
    state_ = {};
    started_ = now;
    if (!live_) view_.say(fmt::format("{} on {}: session {}", report.problem, report.target, report.session));
  }
  const bool phase_changed = report.phase != state_.phase;
  state_.session = report.session;
  state_.problem = report.problem;
  state_.target = report.target + (report.unit == "ns" ? "" : " [" + report.unit + "]");
  state_.phase = report.phase;
  state_.evaluations = report.evaluations;
  state_.budget = report.budget;
  const bool new_best = report.best_speedup > state_.best_speedup;
  state_.best_speedup = report.best_speedup;
  if (!report.best_decisions.empty()) state_.best_decisions = report.best_decisions;
  if (!report.bottleneck.empty()) state_.bottleneck = report.bottleneck;
  if (!report.last_outcome.empty()) {
    ++state_.outcomes[report.last_outcome];
    state_.last_outcome = report.last_outcome + (report.last_speedup > 0 ? " " + transport::speedup_text(report.last_speedup) : "");
    state_.best_so_far.push_back(report.best_speedup);
    if (!live_) {
      view_.say(transport::plain_line({report.evaluations, report.budget, report.last_candidate,
                                       (report.last_is_final ? "final: " : "") + report.last_outcome, report.last_detail,
                                       report.last_speedup, report.best_speedup, new_best}));
    }
  } else if (!live_ && !report.profiled.empty()) {
    view_.say(fmt::format("{} is limited by {}", report.profiled, report.bottleneck));
  } else if (!live_ && phase_changed) {
    view_.say(report.phase);
  }
  if (live_) redraw();
}

void session_view::redraw() {
  if (state_.session.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  state_.elapsed_s = std::chrono::duration<double>(now - started_).count();
  state_.time_left_s.reset();
  if (time_limit_s_ > 0) {
    state_.time_left_s = std::max(0.0, time_limit_s_ - state_.elapsed_s);
  } else if (state_.evaluations > 2) {
    state_.time_left_s = state_.elapsed_s / static_cast<double>(state_.evaluations) *
                         static_cast<double>(std::max<std::int64_t>(0, state_.budget - state_.evaluations));
    state_.time_left_estimated = true;
  }
  view_.resize(terminal_width());
  view_.update(state_, now);
  view_.tick(now);
}

void session_view::finish() {
  if (!quiet_ && live_) view_.finish();
}

}  // namespace kernsmith::actors
