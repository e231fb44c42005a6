#include "agents/synthesis/row_grammar_support.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "agents/synthesis/row_grammar_functions.hpp"

namespace kernsmith::agents::row {
namespace {

constexpr std::string_view narrow_lanes = R"text(using real = vf;   // one float per lane
using whole = vi;  // one int32 per lane; masks are 0 or -1
using real_element = float;
using whole_element = int32_t;
constexpr int W = VL;
)text";

constexpr std::string_view wide_lanes = R"text(using real = vd;   // one double per lane
using whole = vl;  // one int64 per lane; masks are 0 or -1
using real_element = double;
using whole_element = int64_t;
constexpr int W = VLD;
)text";

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool mentions(std::string_view code, std::string_view word) {
  for (std::size_t at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
    const bool starts = at == 0 || !is_word(code[at - 1]);
    const bool ends = at + word.size() == code.size() || !is_word(code[at + word.size()]);
    if (starts && ends) return true;
  }
  return false;
}

bool wanted(std::string_view code, std::string_view names) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (mentions(code, names.substr(0, end))) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

std::string fill_in(std::string_view text, bool wide) {
  static constexpr std::array<std::array<std::string_view, 3>, 14> words = {{
      {"{SET}", "vset(float(x))", "vsetd(x)"},
      {"{SETW}", "vseti(int32_t(x))", "vsetl(x)"},
      {"{LANES}", "ks_lanes()", "ks_lanes64()"},
      {"{R}", "to_vf", "to_vd"},
      {"{L}", "vload", "vloadd"},
      {"{S}", "vstore", "vstored"},
      {"{WL}", "viload", "vlload"},
      {"{WS}", "vistore", "vlstore"},
      {"{MAX}", "vmax", "vmax"},
      {"{MIN}", "vmin", "vmin"},
      {"{SMAX}", "a != a ? a : (a > b ? a : b)", "a != a ? a : (a > b ? a : b)"},
      {"{SMIN}", "a != a ? a : (a < b ? a : b)", "a != a ? a : (a < b ? a : b)"},
      {"{H}", "vi", "vl"},
      {"{E}", "float", "double"},
  }};
  std::string out(text);
  for (const auto& [from, narrow, broad] : words)
    for (std::size_t at = out.find(from); at != std::string::npos; at = out.find(from, at))
      out.replace(at, from.size(), wide ? broad : narrow);
  return out;
}

}  // namespace

std::string support_text(const std::string& code, bool wide) {
  std::string all = code;
  std::vector<std::string_view> chosen;
  for (auto f = support_functions().rbegin(); f != support_functions().rend(); ++f) {
    const bool stream_of_other_width = f->names == (wide ? "stream" : "stream_wide");
    const bool stream_of_mine = f->names == (wide ? "stream_wide" : "stream");
    if (stream_of_other_width || !(wanted(all, f->names) || (stream_of_mine && wanted(all, "stream")))) continue;
    chosen.push_back(f->text);
    all.append(f->text);
  }
  std::reverse(chosen.begin(), chosen.end());
  std::string text = fill_in(wide ? wide_lanes : narrow_lanes, wide);
  for (const std::string_view part : chosen) text += fill_in(part, wide);
  return text;
}

const std::set<std::string>& support_vocabulary() {
  static const std::set<std::string> all = [] {
    std::set<std::string> names = {
        "borders",   "state",    "strip_state", "kExact",  "states",       "starts",        "ends",   "U",      "V",          "u",
        "v",         "l",        "lanes",       "first",   "count",        "row_number",    "crew",   "part",   "block",      "row",
        "strip",     "run",      "compute",     "task",    "span",         "spans",         "rows",   "extent", "piece",      "begin",
        "end",       "threads",  "kStream",     "kFixed",  "kFull",        "past_caches",   "at",     "swept",  "ends",       "slots",
        "divide_by", "constant", "real",        "whole",   "real_element", "whole_element", "W",      "range",  "slot_bytes", "std",
        "INT32_MAX", "INFINITY", "NAN",         "waiting", "waiting_row",  "waits",         "behind", "step",   "last_sweep", "finish_row",
        "adds_up",   "number",   "blocks",      "rest",    "which",        "alone",         "mine",   "merged", "others",     "rank"};
    names.insert("i");       // the lane position in the task of rows side by side
    for (const char* name :  // of products on SIMT devices
         {"ring",    "warp",    "lane",    "first_row",  "first_column", "tiles_down", "tiles_across", "matrix",     "tile",  "band",
          "in_band", "height",  "steps",   "first_step", "last_step",    "depth_end",  "share",        "fetched",    "fetch", "bring",
          "put",     "total",   "read",    "take_in",    "slot",         "next",       "level",        "full_steps", "ahead", "down",
          "across",  "four",    "partial", "own",        "split",        "packs",      "item",         "line",       "pack",  "failed",
          "narrow",  "aligned", "grid",    "join_grid",  "shared_bytes", "values",     "raw"})
      names.insert(name);
    for (const support_function& f : support_functions()) {
      std::string_view words = f.names;
      while (!words.empty()) {
        const std::size_t end = std::min(words.find(' '), words.size());
        names.emplace(words.substr(0, end));
        words.remove_prefix(std::min(end + 1, words.size()));
      }
    }
    return names;
  }();
  return all;
}

std::set<std::string> support_preludes(bool wide) {
  if (wide) return {"types", "simd", "simd64"};
  return {"types", "simd"};
}

}  // namespace kernsmith::agents::row
