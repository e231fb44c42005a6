// A range of work over a few short-lived threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace kernsmith::harness {

/// Runs `work(part, begin, end)` over [0, count), each part contiguous and in a thread of its own; no more than `threads`, and none for
/// less than `least`.
template <class Work>
void in_parts(std::int64_t count, std::int64_t least, int threads, const Work& work) {
  const auto parts = static_cast<int>(std::clamp<std::int64_t>(count / std::max<std::int64_t>(least, 1), 1, std::max(threads, 1)));
  const std::int64_t each = (count + parts - 1) / parts;
  std::vector<std::thread> others;
  for (int part = 1; part < parts; ++part) {
    others.emplace_back([&, part] { work(part, std::min(count, each * part), std::min(count, each * (part + 1))); });
  }
  work(0, 0, std::min(count, each));
  for (std::thread& other : others) other.join();
}

}  // namespace kernsmith::harness
