#include <fmt/format.h>

#include "transport/terminal_view.hpp"

namespace kernsmith::transport {

live_view::live_view(std::function<void(std::string_view)> write, bool in_place, view_style style)
    : write_(std::move(write)), in_place_(in_place), style_(style) {}

void live_view::update(const view_state& state, clock::time_point now) {
  state_ = state;
  pending_ = true;
  tick(now);
}

void live_view::tick(clock::time_point now) {
  if (!in_place_ || !pending_ || (last_draw_ && now - *last_draw_ < min_redraw_interval)) return;
  last_draw_ = now;
  draw();
}

void live_view::say(std::string_view line) {
  const bool redraw = lines_drawn_ > 0;
  write_(fmt::format("{}{}\n", erase(), line));
  if (redraw) draw();
}

void live_view::resize(int width) {
  style_.width = width;
}

void live_view::finish() {
  if (in_place_ && pending_) draw();
  lines_drawn_ = 0;
}

std::string live_view::erase() {
  // Up to the first line of the last drawing, then everything from there on. One write per drawing, so that nothing flickers in between.
  auto up = lines_drawn_ > 0 ? fmt::format("\x1b[{}A\r\x1b[J", lines_drawn_) : std::string();
  lines_drawn_ = 0;
  return up;
}

void live_view::draw() {
  auto text = erase();
  // The last column stays free: a terminal that wraps there would put the next drawing a line too low.
  auto style = style_;
  style.width = style_.width - 1;
  const auto lines = render(state_, style);
  for (const auto& line : lines) text += line + "\n";
  lines_drawn_ = lines.size();
  pending_ = false;
  write_(text);
}

}  // namespace kernsmith::transport
