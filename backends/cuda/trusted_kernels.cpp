#include "backends/cuda/trusted_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

#include "backends/harness/comparison_chunks.hpp"

namespace kernsmith::cuda {

namespace {

constexpr unsigned threads = 256;
constexpr std::size_t blocks_per_multiprocessor = 16;
constexpr unsigned blocks_per_range = 32;
constexpr std::size_t results_bytes = std::size_t{1} << 20, items_bytes = std::size_t{1} << 20;
constexpr unsigned renewal_blocks = 512;
constexpr int register_sums = 16;  // of ks_multiply_add

// The next two as in trusted_kernels.cu.
struct comparison_task {
  std::uint64_t got, expected, count;
  std::int32_t type, mode, wide, rounds;
  double atol, rtol, units, least, ulp_factor, magic_factor, largest, overflow;
};
struct comparison_sums {
  std::uint64_t worst_bits, failures, first;
  double difference2, reference2;
};
static_assert(sizeof(comparison_task) == 104 && sizeof(comparison_sums) == 40);

comparison_task task_of(const comparison_request& r) {
  comparison_task t{};
  t.got = r.got;
  t.expected = r.expected;
  t.count = static_cast<std::uint64_t>(r.count);
  t.type = static_cast<std::int32_t>(r.type);
  t.mode = static_cast<std::int32_t>(r.spec.mode);
  t.wide = r.form == harness::expected_form::wide ? 1 : 0;
  t.rounds = t.wide != 0 && (r.spec.mode == compare_mode::bitwise || r.spec.mode == compare_mode::ulp) ? 1 : 0;
  t.atol = r.spec.atol * r.scale;
  t.rtol = r.spec.rtol * r.scale;
  t.units = r.spec.mode == compare_mode::ulp ? r.spec.ulp * r.scale : 0;
  if (!is_float(r.type)) return t;
  const harness::float_format format = harness::format_of(r.type);
  t.least = std::ldexp(1.0, format.least_exponent);
  t.ulp_factor = std::ldexp(1.0, -format.fraction_bits);
  t.magic_factor = std::ldexp(1.5, 52 - format.fraction_bits);
  t.largest = format.largest;
  t.overflow = format.has_infinity ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return t;
}

harness::comparison verdict_of(const comparison_request& r, const comparison_sums& sums) {
  harness::comparison c;
  std::memcpy(&c.max_error, &sums.worst_bits, sizeof c.max_error);
  c.failures = static_cast<std::int64_t>(sums.failures);
  if (sums.failures > 0) c.first_failure = static_cast<std::int64_t>(~sums.first);
  if (r.spec.mode == compare_mode::normwise && is_float(r.type)) {
    const double limit = r.spec.norm * r.scale * std::sqrt(sums.reference2), distance = std::sqrt(sums.difference2);
    const double error = distance == 0 ? 0
                         : limit > 0   ? std::min(distance / limit, harness::max_reported_error)
                                       : harness::max_reported_error;
    c.max_error = std::max(c.max_error, error);
    if (!(error <= 1.0)) ++c.failures;
  }
  c.match = c.failures == 0;
  return c;
}

}  // namespace

result<std::unique_ptr<trusted_kernels>> trusted_kernels::load(std::shared_ptr<const device> on, const std::filesystem::path& cubin) {
  std::ifstream file(cubin, std::ios::binary);
  const std::string image((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::unique_ptr<trusted_kernels> made(new trusted_kernels(on));
  driver::module_handle module = nullptr;
  if (auto ok = on->check(on->api().module_load(&module, image.c_str()), "loading the trusted device code"); !ok)
    return tl::unexpected(ok.error());
  const std::pair<const char*, driver::function_handle*> functions[] = {
      {"ks_noop", &made->noop_},
      {"ks_fill", &made->fill_},
      {"ks_fill_ranges", &made->fill_ranges_},
      {"ks_check_ranges", &made->check_ranges_},
      {"ks_same", &made->same_},
      {"ks_fingerprint", &made->fingerprint_},
      {"ks_renew", &made->renew_},
      {"ks_compare", &made->compare_},
      {"ks_copy", &made->copy_},
      {"ks_multiply_add", &made->multiply_add_},
  };
  for (const auto& [name, into] : functions) {
    if (auto ok = on->check(on->api().module_function(into, module, name), fmt::format("finding {}", name)); !ok)
      return tl::unexpected(ok.error());
  }
  for (driver::event_handle* event : {&made->first_, &made->last_}) {
    if (auto ok = on->check(on->api().event_create(event, 0), "making an event"); !ok) return tl::unexpected(ok.error());
  }
  auto results = device_array::create(on, results_bytes), items = device_array::create(on, items_bytes);
  if (!results) return tl::unexpected(results.error());
  if (!items) return tl::unexpected(items.error());
  made->results_ = std::move(*results);
  made->items_ = std::move(*items);
  return made;
}

unsigned trusted_kernels::blocks_for(std::size_t work_items, unsigned block) const {
  const auto most =
      static_cast<std::size_t>(std::max<std::int64_t>(on_->description().facts.multiprocessors, 1)) * blocks_per_multiprocessor;
  return static_cast<unsigned>(std::clamp<std::size_t>((work_items + block - 1) / block, 1, most));
}

result<void> trusted_kernels::clear_results(std::size_t bytes) {
  if (bytes > results_bytes) return fail(fault::bug, "more results than the device's list holds");
  return on_->check(on_->api().set_bytes_async(results_.address(), 0, bytes, nullptr), "clearing results");
}

template <class T>
result<std::vector<T>> trusted_kernels::results(std::size_t count) {
  std::vector<T> list(count);
  if (count == 0) return list;
  if (auto ok = on_->check(on_->api().copy_to_host(list.data(), results_.address(), count * sizeof(T)), "reading results"); !ok)
    return tl::unexpected(ok.error());
  return list;
}

result<void> trusted_kernels::noop() {
  if (auto ok = on_->launch(noop_, 1, 1, 1, {}); !ok) return ok;
  return on_->wait();
}

result<void> trusted_kernels::fill(driver::device_address data, std::size_t bytes, std::uint64_t word) {
  return on_->launch(fill_, blocks_for(bytes / 8, threads), 1, threads, {&data, &bytes, &word});
}

result<void> trusted_kernels::fill_slack(const device_buffers& buffers, std::uint64_t word) {
  if (buffers.slack.empty()) return {};
  driver::device_address list = buffers.slack_list.address();
  return on_->launch(fill_ranges_, blocks_per_range, static_cast<unsigned>(buffers.slack.size()), threads, {&list, &word});
}

result<std::string> trusted_kernels::touched_slack(const device_buffers& buffers, std::uint64_t word) {
  if (buffers.slack.empty()) return std::string();
  if (auto ok = clear_results(buffers.slack.size() * sizeof(std::uint32_t)); !ok) return tl::unexpected(ok.error());
  driver::device_address list = buffers.slack_list.address(), touched = results_.address();
  if (auto ok =
          on_->launch(check_ranges_, blocks_per_range, static_cast<unsigned>(buffers.slack.size()), threads, {&list, &word, &touched});
      !ok)
    return tl::unexpected(ok.error());
  auto flags = results<std::uint32_t>(buffers.slack.size());
  if (!flags) return tl::unexpected(flags.error());
  for (std::size_t i = 0; i < flags->size(); ++i) {
    if ((*flags)[i] != 0) return buffers.neighbour[i];
  }
  return std::string();
}

result<std::vector<bool>> trusted_kernels::same(const std::vector<byte_pair>& pairs) {
  if (auto ok = clear_results(pairs.size() * sizeof(std::uint32_t)); !ok) return tl::unexpected(ok.error());
  driver::device_address differs = results_.address();
  for (byte_pair pair : pairs) {
    if (auto ok = on_->launch(same_, blocks_for(pair.bytes / 8, threads), 1, threads, {&pair.a, &pair.b, &pair.bytes, &differs}); !ok)
      return tl::unexpected(ok.error());
    differs += sizeof(std::uint32_t);
  }
  auto flags = results<std::uint32_t>(pairs.size());
  if (!flags) return tl::unexpected(flags.error());
  std::vector<bool> equal;
  for (const std::uint32_t flag : *flags) equal.push_back(flag == 0);
  return equal;
}

result<std::uint64_t> trusted_kernels::fingerprint(const std::vector<device_tensor>& tensors) {
  if (auto ok = clear_results(tensors.size() * sizeof(std::uint64_t)); !ok) return tl::unexpected(ok.error());
  driver::device_address sum = results_.address();
  for (const device_tensor& tensor : tensors) {
    driver::device_address data = tensor.address;
    std::size_t bytes = tensor.bytes;
    if (auto ok = on_->launch(fingerprint_, blocks_for(bytes / 8, threads), 1, threads, {&data, &bytes, &sum}); !ok)
      return tl::unexpected(ok.error());
    sum += sizeof(std::uint64_t);
  }
  auto sums = results<std::uint64_t>(tensors.size());
  if (!sums) return tl::unexpected(sums.error());
  std::uint64_t all = 0;
  for (const std::uint64_t one : *sums) all = (all ^ one) * 0x9e3779b97f4a7c15ull;
  return all;
}

result<void> trusted_kernels::renew(const std::vector<renewal_item>& items) {
  constexpr std::size_t most = items_bytes / sizeof(renewal_item);
  for (std::size_t from = 0; from < items.size(); from += most) {
    const std::size_t count = std::min(most, items.size() - from);
    if (auto ok =
            on_->check(on_->api().copy_to_device(items_.address(), items.data() + from, count * sizeof(renewal_item)), "copying a list");
        !ok)
      return ok;
    driver::device_address list = items_.address();
    if (auto ok = on_->launch(renew_, renewal_blocks, static_cast<unsigned>(count), threads, {&list}); !ok) return ok;
  }
  return {};
}

result<std::vector<harness::comparison>> trusted_kernels::compare(const std::vector<comparison_request>& requests) {
  if (auto ok = clear_results(requests.size() * sizeof(comparison_sums)); !ok) return tl::unexpected(ok.error());
  driver::device_address sums = results_.address();
  for (const comparison_request& request : requests) {
    comparison_task task = task_of(request);
    if (auto ok = on_->launch(compare_, blocks_for(static_cast<std::size_t>(request.count), threads), 1, threads, {&task, &sums}); !ok)
      return tl::unexpected(ok.error());
    sums += sizeof(comparison_sums);
  }
  auto found = results<comparison_sums>(requests.size());
  if (!found) return tl::unexpected(found.error());
  std::vector<harness::comparison> verdicts;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const comparison_request& r = requests[i];
    harness::comparison c = verdict_of(r, (*found)[i]);
    if (c.first_failure >= 0) {
      const auto at = static_cast<std::size_t>(c.first_failure), size = size_of(r.type);
      const std::size_t expected_size = r.form == harness::expected_form::wide ? sizeof(double) : size;
      std::uint64_t got = 0, expected = 0;
      for (const auto code : {on_->api().copy_to_host(&got, r.got + at * size, size),
                              on_->api().copy_to_host(&expected, r.expected + at * expected_size, expected_size)}) {
        if (auto ok = on_->check(code, "reading an element"); !ok) return tl::unexpected(ok.error());
      }
      const dtype wide = is_float(r.type) ? dtype::f64 : dtype::i64;
      c.got = load_as_double(&got, 0, r.type);
      c.expected = load_as_double(&expected, 0, r.form == harness::expected_form::wide ? wide : r.type);
    }
    verdicts.push_back(c);
  }
  return verdicts;
}

result<bool> trusted_kernels::is_poisoned(driver::device_address data, std::int64_t index, dtype type, harness::poison pattern) {
  const std::size_t size = size_of(type), offset = static_cast<std::size_t>(index) * size;
  std::uint64_t bits = 0;
  if (auto ok = on_->check(on_->api().copy_to_host(&bits, data + offset, size), "reading an element"); !ok)
    return tl::unexpected(ok.error());
  return std::memcmp(&bits, reinterpret_cast<const std::byte*>(&pattern.word) + offset % sizeof pattern.word, size) == 0;
}

result<void> trusted_kernels::copy(driver::device_address to, driver::device_address from, std::size_t bytes) {
  return on_->check(on_->api().copy_on_device_async(to, from, bytes, nullptr), "copying on the device");
}

result<double> trusted_kernels::copy_ns(driver::device_address to, driver::device_address from, std::size_t bytes, int repeats) {
  std::uint64_t pieces = bytes / 16;
  (void)on_->api().event_record(first_, nullptr);
  for (int i = 0; i < repeats; ++i) {
    if (auto ok = on_->launch(copy_, blocks_for(pieces, threads), 1, threads, {&to, &from, &pieces}); !ok)
      return tl::unexpected(ok.error());
  }
  (void)on_->api().event_record(last_, nullptr);
  if (auto ok = on_->wait(); !ok) return tl::unexpected(ok.error());
  float ms = 0;
  if (auto ok = on_->check(on_->api().event_elapsed_ms(&ms, first_, last_), "reading a time"); !ok) return tl::unexpected(ok.error());
  return static_cast<double>(ms) * 1e6 / repeats;
}

result<double> trusted_kernels::multiply_add_ns(driver::device_address scratch, int rounds, double& operations) {
  float factor = 0.999f;
  const unsigned blocks = blocks_for(std::numeric_limits<std::size_t>::max() / 2, threads);
  operations = 2.0 * register_sums * rounds * blocks * threads;
  (void)on_->api().event_record(first_, nullptr);
  if (auto ok = on_->launch(multiply_add_, blocks, 1, threads, {&scratch, &factor, &rounds}); !ok) return tl::unexpected(ok.error());
  (void)on_->api().event_record(last_, nullptr);
  if (auto ok = on_->wait(); !ok) return tl::unexpected(ok.error());
  float ms = 0;
  if (auto ok = on_->check(on_->api().event_elapsed_ms(&ms, first_, last_), "reading a time"); !ok) return tl::unexpected(ok.error());
  return static_cast<double>(ms) * 1e6;
}

}  // namespace kernsmith::cuda
