// What the verifier and kernsmith-runner say to each other over a SOCK_SEQPACKET pair: one message per record, fixed layouts, one machine.
//
// The runner shares its address space with the candidate, so every byte that comes from it may be the candidate's. The verifier uses
// its answers only to know when to stop its own clock and which word to use for a failure; it never takes a value or a verdict from them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernsmith::harness::wire {

inline constexpr int control_descriptor = 6;  ///< in the runner
/// Set for trusted hosted kernels that may fill their outputs after the answer.
inline constexpr const char* outputs_follow_variable = "KERNSMITH_OUTPUTS_FOLLOW";

/// Set for trusted hosted kernels whose process is forked from one that has the interpreter ready.
inline constexpr const char* renewable_variable = "KERNSMITH_RENEWABLE";

inline constexpr std::uint32_t max_rank = 16;
inline constexpr std::uint32_t max_axes = 64;
inline constexpr std::uint32_t max_tensors = 128;  ///< inputs and outputs of a set together
inline constexpr std::uint32_t max_buffers = 65536;
inline constexpr std::uint32_t max_sets = 65536;
inline constexpr std::uint32_t max_batch_calls = 4096;
inline constexpr std::uint32_t max_text_bytes = 4096;
inline constexpr std::size_t max_message_bytes = std::size_t{64} << 10;

/// What `launch` of a hosted kernel returns beside 0; the last line of its output says more.
enum hosted_code : std::int32_t { hosted_raised = 0x4b530001, hosted_wrong_shape, hosted_wrong_dtype };

enum class request_kind : std::uint32_t {
  map_buffer,  ///< map_body and one descriptor; answered `done` with the data's address
  add_set,     ///< set_body, tensors, axes; answered `done`
  drop_sets,   ///< forget all sets and unmap all buffers; answered `done`
  call,        ///< `count` set numbers; answered `done` or `refused` with the calls' own times
  /// Devices only. Two set numbers: on the stream, inputs of the first arrive late in the second, launch is called on the second, its
  /// outputs are copied to the first's. Answered like a call of one set.
  call_in_stream,
  load,  ///< the path of a library, ended by a zero; only to a runner without one; answered `done`
  /// Devices only. One set number: launch is called on it while the stream records, and the recording is kept under that number instead of
  /// an older one. Answered `done`, `refused` when launch refuses, or `unable`.
  capture,
  /// Devices only. A device_time_body, then the path of CUPTI's library, ended by a zero. Answered `done` with one time: how long the
  /// device was at work for one call, in the mean, by CUPTI's records of it; or `refused`, or `unable`.
  device_time,
  replay,  ///< `count` set numbers, each captured before: their recordings are launched in order; answered like `call`
  /// To the first process of a renewable runner alone, with the descriptor of a channel: the process that serves, if there is one, is
  /// ended, and a new one serves that channel. Not answered here; there it says `loaded`.
  renew,
};

struct request_header {
  request_kind kind;
  std::uint32_t count;
  std::uint64_t sequence;
};

struct map_body {
  std::uint64_t file_bytes, data_offset, data_bytes;
};

struct set_body {
  std::uint32_t inputs, outputs, axes, reserved;
};

struct tensor_body {
  std::uint32_t buffer;
  std::int32_t dtype;
  std::uint32_t rank, reserved;
  std::uint64_t offset;  ///< bytes behind the buffer's data at which the tensor begins
  std::int64_t shape[max_rank];
};

struct device_time_body {
  std::uint32_t set, calls, replays, reserved;  ///< replays: of what was captured, instead of calls
};

enum class answer_kind : std::uint32_t {
  loaded,       ///< the library is in place, or one is waited for; sent once, unasked
  load_failed,  ///< text: what the loader said; the runner ends
  done,
  refused,        ///< launch returned `code`
  fault,          ///< about to die of signal `code` at address `value`
  device_failed,  ///< text: the device's error and its number in `code`; the context is lost and the runner ends
  broken,         ///< text: what the runner could not do (memory), with the device's number in `code`; the runner ends
  unable,         ///< text: why what was asked can't be done, the device's number in `code`; the runner goes on
};

struct answer_header {
  answer_kind kind;
  std::int32_t code;
  std::uint32_t count;     ///< values or bytes of text that follow
  std::uint32_t reserved;  ///< fault by SIGILL: the first two bytes of the instruction
  std::uint64_t sequence;  ///< of the request
  std::uint64_t value;
};

}  // namespace kernsmith::harness::wire
