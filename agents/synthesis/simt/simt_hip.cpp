#include "agents/synthesis/simt/simt_hip.hpp"

#include <cctype>
#include <map>

namespace kernsmith::agents::simt {

namespace {

const std::map<std::string, std::string, std::less<>>& runtime_names() {
  static const std::map<std::string, std::string, std::less<>> names = {
      {"cudaError_t", "hipError_t"},
      {"cudaErrorInvalidConfiguration", "hipErrorInvalidConfiguration"},
      {"cudaErrorMemoryAllocation", "hipErrorOutOfMemory"},
      {"cudaFree", "hipFree"},
      {"cudaMalloc", "hipMalloc"},
      {"cudaMemsetAsync", "hipMemsetAsync"},
      {"cudaStream_t", "hipStream_t"},
      {"cudaSuccess", "hipSuccess"},
  };
  return names;
}

bool in_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

const std::vector<std::string>& hip_include_lines() {
  static const std::vector<std::string> lines = {
      "#include <hip/hip_fp16.h>", "#include <hip/hip_runtime.h>", "#if defined(__HIP_PLATFORM_NVIDIA__)",
      "#include <cuda_bf16.h>",    "#include <cuda_fp8.h>",        "#endif"};
  return lines;
}

std::string with_hip_names(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (!in_identifier(text[at])) {
      out += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && in_identifier(text[end])) ++end;
    const std::string_view word = std::string_view(text).substr(at, end - at);
    const auto known = runtime_names().find(word);
    out += known == runtime_names().end() ? word : std::string_view(known->second);
    at = end;
  }
  return out;
}

}  // namespace kernsmith::agents::simt
