#include "backends/harness/how_it_ended.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

#include "backends/harness/cuda_driver.hpp"
#include "backends/harness/guarded_mapping.hpp"

namespace kernsmith::harness {

namespace {

/// What compilers put where a program must not come to: no instruction of any processor.
constexpr std::uint32_t ud2_bytes = 0x0b0f;

std::string signal_text(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

std::optional<std::string> fence_at(std::uint64_t address, const std::vector<fenced_range>& fences) {
  for (const fenced_range& range : fences) {
    const std::uint64_t end = range.start + range.bytes;
    if (address >= end && address - end < guard_bytes) return fmt::format("{} bytes past the end of {}", address - end, range.what);
    if (address < range.start && range.start - address <= guard_bytes)
      return fmt::format("{} bytes before the start of {}", range.start - address, range.what);
  }
  return std::nullopt;
}

}  // namespace

call_result how_it_ended(int exit_status, const std::optional<wire::answer_header>& reported, const std::vector<fenced_range>& fences) {
  call_result end;
  if (exit_status >= 0) {
    end.status = call_status::exited;
    end.detail = fmt::format("ended its process with exit code {}", exit_status);
    return end;
  }
  const int number = -exit_status;
  end.status = call_status::crashed;
  end.detail = "died of " + signal_text(number);
  if (number == SIGKILL) {
    // Not ours: the kernel when memory is short, or the process itself.
    end.status = call_status::resource_limit;
    end.detail += ", as the system does to processes when memory runs out";
  } else if (number == SIGXFSZ) {
    end.status = call_status::resource_limit;
    end.detail += fmt::format(": wrote a file of more than {} bytes", runner_max_file_bytes);
  } else if (number == SIGILL && reported && reported->code == number && reported->reserved != 0 && reported->reserved != ud2_bytes) {
    end.status = call_status::refused;
    end.detail = fmt::format("an instruction that this processor does not have, at address {:#x}", reported->value);
  } else if (reported && reported->code == number && number != SIGILL) {
    if (const auto where = fence_at(reported->value, fences)) {
      end.status = call_status::out_of_bounds;
      end.detail += ", " + *where;
    } else {
      end.detail += fmt::format(" at address {:#x}", reported->value);
    }
  }
  return end;
}

device_failure how_device_failed(int code, const std::string& name) {
  const auto said = [&](call_status status, const char* words) {
    return device_failure{status, fmt::format("{} ({}, {})", words, name, code)};
  };
  switch (code) {
    case cuda::error_illegal_address:
      return said(call_status::out_of_bounds, "an access to device memory that belongs to nothing: beyond a buffer, or no address at all");
    case cuda::error_out_of_memory:
      return said(call_status::resource_limit, "the device's memory ran out");
    case cuda::error_launch_out_of_resources:
      return said(call_status::refused, "a launch asks for more than the device has");
    case cuda::error_no_binary_for_gpu:
    case cuda::error_unsupported_ptx_version:
      return said(call_status::refused, "the kernel was built for another device");
    case cuda::error_launch_timeout:
      return said(call_status::timeout, "the driver ended a kernel that ran too long");
    case cuda::error_ecc_uncorrectable:
    case cuda::error_no_device:
    case cuda::error_devices_unavailable:
    case cuda::error_system_not_ready:
      return said(call_status::lost, "the device failed");
    default:
      return said(call_status::crashed, "the device gave its work up");
  }
}

}  // namespace kernsmith::harness
