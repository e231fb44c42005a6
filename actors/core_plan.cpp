#include "actors/core_plan.hpp"

#include <sched.h>

#include <algorithm>

namespace kernsmith::actors {

namespace {

core_plan plan_with(const std::vector<int>& allowed, std::size_t slots, std::size_t threads, std::size_t reserved) {
  core_plan plan;
  std::size_t measured = allowed.size();
  if (allowed.size() >= min_cores_to_reserve) {
    // The first cores serve interrupts and everything else on the machine: they build.
    plan.build.assign(allowed.begin(), allowed.begin() + static_cast<std::ptrdiff_t>(reserved));
    measured -= reserved;
  } else {
    plan.build = allowed;
    plan.shared = true;
  }
  plan.builders = std::max<std::size_t>(1, plan.build.size());
  std::size_t each = std::max<std::size_t>(1, measured / slots);
  if (threads > 0) each = std::min(each, threads);
  auto next = allowed.end() - static_cast<std::ptrdiff_t>(measured);
  for (std::size_t s = 0; s < slots && next != allowed.end(); ++s) {
    const auto last = next + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(each), allowed.end() - next);
    plan.slots.emplace_back(next, last);
    next = last;
  }
  return plan;
}

std::size_t possible_slots(const std::vector<int>& allowed, std::size_t slots) {
  return std::clamp<std::size_t>(slots, 1, std::max<std::size_t>(allowed.size(), 1));
}

}  // namespace

core_plan plan_cores(const std::vector<int>& allowed, std::size_t slots, std::size_t threads) {
  return plan_with(allowed, possible_slots(allowed, slots), threads, std::max<std::size_t>(1, allowed.size() / 8));
}

core_plan plan_device_cores(const std::vector<int>& allowed, std::size_t slots, std::size_t threads) {
  slots = possible_slots(allowed, slots);
  const std::size_t each = std::clamp<std::size_t>(allowed.size() / (2 * slots), 1, most_host_cores);
  const std::size_t measured = std::min(each * slots, allowed.size() - std::min<std::size_t>(1, allowed.size()));
  return plan_with(allowed, slots, threads, std::max<std::size_t>(1, allowed.size() - measured));
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> ids;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int id = 0; id < CPU_SETSIZE; ++id)
      if (CPU_ISSET(static_cast<std::size_t>(id), &set)) ids.push_back(id);
  if (ids.empty()) ids.push_back(0);
  return ids;
}

core_gate::hold::hold(core_gate& gate, bool exclusive) : gate_(gate), exclusive_(exclusive) {
  if (!gate_.shared_) return;
  std::unique_lock lock(gate_.mutex_);
  if (exclusive_) {
    ++gate_.measurements_waiting_;
    gate_.changed_.wait(lock, [&] { return gate_.builds_ == 0 && !gate_.measuring_; });
    --gate_.measurements_waiting_;
    gate_.measuring_ = true;
  } else {
    gate_.changed_.wait(lock, [&] { return !gate_.measuring_ && gate_.measurements_waiting_ == 0; });
    ++gate_.builds_;
  }
}

core_gate::hold::~hold() {
  if (!gate_.shared_) return;
  {
    const std::lock_guard lock(gate_.mutex_);
    if (exclusive_)
      gate_.measuring_ = false;
    else
      --gate_.builds_;
  }
  gate_.changed_.notify_all();
}

}  // namespace kernsmith::actors
