// What a workload costs at least, and what a measured time says about the bottleneck: a roofline of the definition.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backends/cpp/machine_peaks.hpp"
#include "config/problem.hpp"
#include "memory/records.hpp"

namespace kernsmith::cpp {

struct workload_work {
  double bytes = 0;              ///< each input that is read and each output, once; gathered tensors as far as they are touched
  double compulsory_bytes = 0;   ///< the part of it that no kernel can avoid
  double flops = 0;              ///< operations of the definition as written; functions count several
  double contraction_flops = 0;  ///< multiply-adds of plain contractions: no known kernel needs much fewer
  bool sums_products = false;    ///< somewhere: matrix units may do that part
  double floor_ns = 0;
};

[[nodiscard]] workload_work work_of(const problem& p, const std::vector<std::int64_t>& axes);

/// The axes with the largest of them halved again and again, until `small_enough` says so of them and of their share of the work, or the
/// problem allows nothing smaller.
[[nodiscard]] std::vector<std::int64_t> shrink_axes(const problem& p, std::vector<std::int64_t> axes,
                                                    const std::function<bool(const std::vector<std::int64_t>&, double)>& small_enough);

/// Faster than this is impossible. Generous on purpose: an honest kernel must never be refused for it.
[[nodiscard]] double floor_ns(const workload_work& work, const machine_peaks& peaks, std::int64_t cache_bytes);

[[nodiscard]] memory::diagnosis diagnose(const workload_work& work, double measured_ns, const machine_peaks& peaks,
                                         std::int64_t cache_bytes);

}  // namespace kernsmith::cpp
