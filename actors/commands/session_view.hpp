// What a person sees of the sessions of one `optimize`: a live view on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "actors/messages.hpp"
#include "actors/presenter.hpp"
#include "transport/terminal_view.hpp"

namespace kernsmith::actors {

class session_view {
 public:
  /// `quiet`: shows nothing. `time_limit_s` 0: none.
  session_view(bool quiet, double time_limit_s);

  /// Functions for the presenter actor; this object outlives it. All calls come from that one actor.
  [[nodiscard]] presenter_config presenter();
  /// Leaves the last view standing.
  void finish();

 private:
  void show(const progress_report& report);
  void redraw();

  bool quiet_, live_;
  double time_limit_s_;
  transport::live_view view_;
  transport::view_state state_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace kernsmith::actors
