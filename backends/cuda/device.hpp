// One CUDA device as the verifier sees it: its driver, its facts, the verifier's own context on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/harness/cuda_driver.hpp"
#include "backends/harness/runner_client.hpp"
#include "config/error.hpp"
#include "memory/records.hpp"

namespace kernsmith::cuda {

namespace driver = harness::cuda;

/// What can be known without making a context: for naming targets and for `doctor`.
struct device_description {
  std::string name;          ///< "NVIDIA H200"
  std::string architecture;  ///< "sm_90a"
  std::string uuid;          ///< "GPU-..."
  std::string driver;        ///< "CUDA 13.0 driver 580.159.04"
  memory::device_facts facts;
};
/// Of the first device that CUDA_VISIBLE_DEVICES lets be seen. missing_here, with the remedy, without driver or device.
[[nodiscard]] result<device_description> describe_device();

/// The verifier's hold of a device. Calls are made from one thread at a time, after make_current() on that thread.
class device {
 public:
  /// One per process, made at first use and kept: a context costs a tenth of a second and half a gigabyte.
  [[nodiscard]] static result<std::shared_ptr<device>> open();

  [[nodiscard]] const driver::driver& api() const { return api_; }
  [[nodiscard]] const device_description& description() const { return description_; }
  [[nodiscard]] int ordinal() const { return 0; }
  [[nodiscard]] std::size_t granularity() const { return granularity_; }
  [[nodiscard]] std::size_t l2_bytes() const { return static_cast<std::size_t>(description_.facts.l2_bytes); }
  /// What a runner is given so that it can use the device.
  [[nodiscard]] const harness::accelerator_access& access() const { return access_; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& environment() const { return environment_; }

  [[nodiscard]] result<void> make_current() const;
  /// Infrastructure, naming what was being done, unless `code` is success.
  [[nodiscard]] result<void> check(driver::status code, const std::string& doing) const;
  /// Until all work of the verifier's context is done.
  [[nodiscard]] result<void> wait() const;
  [[nodiscard]] result<void> launch(driver::function_handle function, unsigned blocks, unsigned rows, unsigned threads,
                                    std::vector<void*> arguments) const;
  /// Of the whole device, whoever uses the rest.
  [[nodiscard]] result<std::size_t> free_bytes() const;
  /// Lines that some kernel has pinned in the second-level cache are let go.
  void release_pinned_lines() const { (void)api_.reset_persisting_l2(); }

 private:
  device() = default;

  driver::driver api_;
  device_description description_;
  harness::accelerator_access access_;
  std::vector<std::pair<std::string, std::string>> environment_;
  driver::context_handle context_ = nullptr;
  std::size_t granularity_ = 0;
};

/// Device memory of the verifier's own, never exported: scratch, results, lists.
class device_array {
 public:
  device_array() = default;
  [[nodiscard]] static result<device_array> create(std::shared_ptr<const device> on, std::size_t bytes);
  ~device_array();
  device_array(device_array&& other) noexcept
      : on_(std::move(other.on_)), address_(std::exchange(other.address_, 0)), bytes_(other.bytes_) {}
  device_array& operator=(device_array&& other) noexcept;
  device_array(const device_array&) = delete;
  device_array& operator=(const device_array&) = delete;
  [[nodiscard]] driver::device_address address() const { return address_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<const device> on_;
  driver::device_address address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace kernsmith::cuda
