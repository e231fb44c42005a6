#include "transport/terminal_view.hpp"

#include <doctest/doctest.h>

using namespace kernsmith::transport;
using namespace std::chrono_literals;

namespace {

view_state in_mid_search() {
  view_state s;
  s.problem = "softmax";
  s.target = "cpp/x86-64-v4";
  s.phase = "searching";
  s.evaluations = 12;
  s.budget = 48;
  s.best_speedup = 3.456;
  s.best_ci95 = {3.4, 3.51};
  s.best_decisions = "rows per thread 4, online softmax, unroll 8";
  s.bottleneck = "memory";
  s.roofline_fraction = 0.83;
  s.last_outcome = "wrong_values";
  s.outcomes = {{"passed", 10}, {"wrong_values", 1}, {"build_failed", 1}};
  s.best_so_far = {0, 1, 1, 2, 2, 3, 3, 3.456};
  s.slots = {"measuring cand-0a1b2c3d4e5f", "building cand-112233445566"};
  s.elapsed_s = 75;
  s.time_left_s = 225;
  s.time_left_estimated = true;
  return s;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

std::size_t columns(const std::string& line) {
  std::size_t n = 0;
  for (const char c : line) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1U : 0U;
  return n;
}

/// What a terminal shows after it was sent `text`: understands line ends, "up" and "erase below", which is all that the view uses.
std::vector<std::string> screen_after(const std::string& text) {
  std::vector<std::string> lines{""};
  std::size_t row = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      if (++row == lines.size()) lines.emplace_back();
      lines[row].clear();
    } else if (text[i] == '\x1b') {
      const auto end = text.find_first_of("ABCDEFGHJKm", i);
      const auto argument = text.substr(i + 2, end - i - 2);
      if (text[end] == 'A') row -= static_cast<std::size_t>(std::stoi(argument));
      if (text[end] == 'J') {
        lines.resize(row + 1);
        lines[row].clear();
      }
      i = end;
    } else if (text[i] != '\r') {
      lines[row] += text[i];
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("the view in mid-search") {
  CHECK(joined(render(in_mid_search(), {80, false, true})) ==
        "softmax  cpp/x86-64-v4  searching\n"
        "  progress   ██████░░░░░░░░░░░░░░░░░░ 12/48  1 m 15 s, about 3 m 45 s left\n"
        "  best       3.46x [3.40, 3.51]  rows per thread 4, online softmax, unroll 8\n"
        "  so far      ▁▁▄▄▇▇█\n"
        "  limited by memory, 83 % of the roofline\n"
        "  last       wrong_values  of 10 passed, 1 build_failed, 1 wrong_values\n"
        "  slot 0     measuring cand-0a1b2c3d4e5f\n"
        "  slot 1     building cand-112233445566\n");
}

TEST_CASE("the view before anything was found, in ASCII") {
  view_state s;
  s.problem = "softmax";
  s.target = "cpp/x86-64-v4";
  s.phase = "measuring the baseline";
  s.budget = 32;
  CHECK(joined(render(s, {80, false, false})) ==
        "softmax  cpp/x86-64-v4  measuring the baseline\n"
        "  progress   ........................ 0/32  0 s\n"
        "  best       none verified yet\n");
}

TEST_CASE("colour adds codes and nothing else") {
  const auto plain = render(in_mid_search(), {60, false, true});
  const auto coloured = render(in_mid_search(), {60, true, true});
  CHECK(coloured[2].find("\x1b[32m3.46x\x1b[0m") != std::string::npos);
  CHECK(coloured[5].find("\x1b[31mwrong_values\x1b[0m") != std::string::npos);
  REQUIRE(plain.size() == coloured.size());
  const auto stripped = screen_after(joined(coloured));
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(stripped[i] == plain[i]);
}

TEST_CASE("no line is wider than the terminal, and none is cut inside a character") {
  for (const int width : {20, 21, 33, 47, 64, 200}) {
    for (const auto& line : render(in_mid_search(), {width, false, true})) {
      CHECK(columns(line) <= static_cast<std::size_t>(width));
      CHECK((line.empty() || (static_cast<unsigned char>(line.back()) & 0xC0) != 0xC0));
    }
  }
}

TEST_CASE("text from outside can't steer the terminal") {
  auto s = in_mid_search();
  s.best_decisions = "a\x1b[2Jb\nc";
  for (const auto& line : render(s, {80, false, true})) CHECK(line.find_first_of("\x1b\n\r") == std::string::npos);
  CHECK(plain_line({1, 2, "cand-a", "build_failed", "line\x1b[31m\nnext", 0, 0, false}).find_first_of("\x1b\n") == std::string::npos);
}

TEST_CASE("sparklines scale between the lowest and the highest value") {
  const std::vector<double> ramp{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(sparkline(ramp, 8, true) == "▁▂▃▄▅▆▇█");
  CHECK(sparkline(ramp, 4, true) == "▁▃▆█");  // each column shows the last of its values
  CHECK(sparkline(ramp, 8, false) == "_.:-=+*#");
  CHECK(sparkline(std::vector<double>{2, 2}, 8, true) == "██");
  CHECK(sparkline(std::vector<double>{0, 0, 1}, 8, true) == "  █");
  CHECK(sparkline(std::vector<double>{}, 8, true).empty());
  CHECK(sparkline(ramp, 0, true).empty());
}

TEST_CASE("durations and speed-ups as people say them") {
  CHECK(duration_text(0.4) == "0 s");
  CHECK(duration_text(59.9) == "59 s");
  CHECK(duration_text(200) == "3 m 20 s");
  CHECK(duration_text(3900) == "1 h 05 m");
  CHECK(duration_text(-3) == "0 s");
  CHECK(speedup_text(1.425) == "1.43x");
  CHECK(speedup_text(0) == "-");
}

TEST_CASE("plain lines, one per evaluation") {
  CHECK(plain_line({12, 96, "cand-0a1b2c3d4e5f", "passed", "tile 64", 1.42, 1.42, true}) ==
        "[12/96] passed 1.42x, best 1.42x (new)  cand-0a1b2c3d4e5f  tile 64");
  CHECK(plain_line({13, 96, "cand-1", "build_failed", "", 0, 1.42, false}) == "[13/96] build_failed, best 1.42x  cand-1");
  CHECK(plain_line({1, 96, "cand-1", "crashed", "signal 11", 0, 0, false}) == "[1/96] crashed  cand-1  signal 11");
}

TEST_CASE("the live view redraws in place, keeps what was said above it and leaves the last state standing") {
  std::string sent;
  int writes = 0;
  live_view view(
      [&](std::string_view text) {
        sent += text;
        ++writes;
      },
      true, {81, false, true});
  const live_view::clock::time_point start{};
  auto s = in_mid_search();
  view.update(s, start);
  CHECK(writes == 1);
  s.evaluations = 13;
  view.update(s, start + 50ms);
  CHECK(writes == 1);  // too soon
  view.tick(start + 100ms);
  CHECK(writes == 1);
  view.tick(start + 125ms);
  CHECK(writes == 2);
  view.tick(start + 500ms);
  CHECK(writes == 2);  // nothing new
  view.say("a new best");
  s.slots.pop_back();  // fewer lines than before
  s.evaluations = 14;
  view.update(s, start + 510ms);
  view.finish();
  auto expected = render(s, {80, false, true});
  expected.insert(expected.begin(), "a new best");
  expected.emplace_back();
  CHECK(screen_after(sent) == expected);
  CHECK(sent.find("\x1b[?25l") == std::string::npos);  // never hides the cursor
  view.say("after the end");
  CHECK(screen_after(sent)[expected.size() - 1] == "after the end");
}

TEST_CASE("off a terminal only what is said is written") {
  std::string sent;
  live_view view([&](std::string_view text) { sent += text; }, false, {80, false, true});
  view.update(in_mid_search(), {});
  view.say("[1/2] passed");
  view.finish();
  CHECK(sent == "[1/2] passed\n");
}
