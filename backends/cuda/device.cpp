#include "backends/cuda/device.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string_view>

namespace kernsmith::cuda {

namespace fs = std::filesystem;

namespace {

constexpr const char* driver_library = "libcuda.so.1";
constexpr double two_transfers_per_clock = 2;

/// Where the system has loaded the driver from: a runner is given this very file.
fs::path loaded_driver() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at != std::string::npos && line.find("/libcuda.so", at) != std::string::npos) return line.substr(at);
  }
  return {};
}

std::vector<fs::path> device_nodes() {
  std::vector<fs::path> nodes;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/dev", failed)) {
    if (entry.path().filename().string().starts_with("nvidia") && entry.is_character_file(failed)) nodes.push_back(entry.path());
  }
  return nodes;
}

std::string driver_release() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ..."
  const std::size_t begin = line.find_first_of("0123456789", line.find("x86_64") == std::string::npos ? 0 : line.find("x86_64") + 6);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find(' ', begin) - begin);
}

std::string uuid_text(const std::array<unsigned char, 16>& bytes) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
  return text;
}

/// Instructions that only one device's generation has need its own name from compute capability 9.0 on.
std::string architecture_of(int major, int minor) {
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

result<device_description> describe(const driver::driver& api) {
  const auto missing = [](const std::string& what) {
    return fail(fault::missing_here, what + "; target cuda needs an NVIDIA device and its driver (nvidia-smi must list it)");
  };
  if (const driver::status s = api.init(0); s != driver::success)
    return missing(fmt::format("the CUDA driver does not start here ({})", api.name_of(s)));
  int count = 0, device = 0, version = 0;
  if (api.device_count(&count) != driver::success || count < 1 || api.device_get(&device, 0) != driver::success)
    return missing("there is no CUDA device here (or CUDA_VISIBLE_DEVICES hides it)");
  (void)api.driver_version(&version);
  std::array<char, 256> name{};
  std::array<unsigned char, 16> uuid{};
  (void)api.device_name(name.data(), static_cast<int>(name.size()), device);
  (void)api.device_uuid(uuid.data(), device);
  const auto value = [&](driver::attribute a) {
    int found = 0;
    (void)api.device_attribute(&found, static_cast<int>(a), device);
    return found;
  };
  using enum driver::attribute;
  if (value(virtual_memory) == 0 || value(descriptor_handles) == 0)
    return missing(fmt::format("{} can't share memory between processes by descriptor", name.data()));
  device_description d;
  d.name = name.data();
  d.architecture = architecture_of(value(capability_major), value(capability_minor));
  d.uuid = uuid_text(uuid);
  d.driver = fmt::format("CUDA {}.{} driver {}", version / 1000, version % 1000 / 10, driver_release());
  d.facts.architecture = d.architecture;
  d.facts.multiprocessors = value(multiprocessors);
  d.facts.warp_size = value(warp_size);
  d.facts.threads_per_multiprocessor = value(threads_per_multiprocessor);
  d.facts.registers_per_multiprocessor = value(registers_per_multiprocessor);
  d.facts.shared_bytes_per_multiprocessor = value(shared_bytes_per_multiprocessor);
  d.facts.shared_bytes_per_block = value(shared_bytes_per_block_optin);
  d.facts.l2_bytes = value(l2_bytes);
  d.facts.clock_khz = value(clock_khz);
  d.facts.memory_gb_per_s = two_transfers_per_clock * value(memory_clock_khz) * 1e3 * value(memory_bus_bits) / 8 * 1e-9;
  return d;
}

result<driver::driver> load_driver() {
  driver::driver api;
  if (const char* why = api.load(driver_library)) {
    return fail(fault::missing_here,
                fmt::format("the CUDA driver can't be loaded ({}); target cuda needs an NVIDIA device and its driver", why));
  }
  return api;
}

}  // namespace

result<device_description> describe_device() {
  auto api = load_driver();
  if (!api) return tl::unexpected(api.error());
  return describe(*api);
}

result<std::shared_ptr<device>> device::open() {
  static std::mutex opening;
  static std::shared_ptr<device> opened;
  const std::lock_guard lock(opening);
  if (opened) return opened;
  auto api = load_driver();
  if (!api) return tl::unexpected(api.error());
  auto description = describe(*api);
  if (!description) return tl::unexpected(description.error());
  std::shared_ptr<device> made(new device);
  made->api_ = *api;
  made->description_ = *description;
  int number = 0;
  for (const driver::status s : {made->api_.device_get(&number, 0), made->api_.primary_retain(&made->context_, number)}) {
    if (auto ok = made->check(s, "making a context"); !ok) return tl::unexpected(ok.error());
  }
  if (auto current = made->make_current(); !current) return tl::unexpected(current.error());
  const driver::allocation_properties properties;
  if (auto ok = made->check(made->api_.granularity(&made->granularity_, &properties, 0), "asking for the memory's granularity"); !ok)
    return tl::unexpected(ok.error());
  made->access_ = {loaded_driver(), device_nodes(), 0};
  if (made->access_.driver.empty() || made->access_.nodes.empty())
    return fail(fault::missing_here,
                "the CUDA driver's library or its device nodes (/dev/nvidia*) can't be found, which the sandbox needs");
  made->environment_ = {{"LD_LIBRARY_PATH", made->access_.driver.parent_path().string()},
                        {"CUDA_VISIBLE_DEVICES", made->description_.uuid},
                        {"CUDA_CACHE_DISABLE", "1"}};
  opened = made;
  return opened;
}

result<void> device::check(driver::status code, const std::string& doing) const {
  if (code == driver::success) return {};
  return fail(fault::infrastructure, fmt::format("{} on {}: {} ({})", doing, description_.name, api_.name_of(code), code));
}

result<void> device::make_current() const {
  return check(api_.context_set(context_), "making the verifier's context current");
}

result<void> device::wait() const {
  return check(api_.context_synchronize(), "waiting for the verifier's work");
}

result<void> device::launch(driver::function_handle function, unsigned blocks, unsigned rows, unsigned threads,
                            std::vector<void*> arguments) const {
  return check(api_.launch(function, blocks, rows, 1, threads, 1, 1, 0, nullptr, arguments.data(), nullptr), "launching trusted work");
}

result<std::size_t> device::free_bytes() const {
  std::size_t free = 0, total = 0;
  if (auto ok = check(api_.memory_info(&free, &total), "asking for free memory"); !ok) return tl::unexpected(ok.error());
  return free;
}

result<device_array> device_array::create(std::shared_ptr<const device> on, std::size_t bytes) {
  device_array made;
  if (auto ok = on->check(on->api().memory_allocate(&made.address_, bytes), fmt::format("taking {} MiB", bytes >> 20)); !ok)
    return tl::unexpected(ok.error());
  made.on_ = std::move(on);
  made.bytes_ = bytes;
  return made;
}

device_array::~device_array() {
  if (address_ != 0) (void)on_->api().memory_free(address_);
}

device_array& device_array::operator=(device_array&& other) noexcept {
  std::swap(on_, other.on_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace kernsmith::cuda
