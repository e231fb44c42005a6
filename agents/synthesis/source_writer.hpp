// Lines of source with two-space indentation: what emitters write into.
#pragma once

#include <string>
#include <string_view>

namespace kernsmith::agents {

class source_writer {
 public:
  explicit source_writer(int depth = 0) : depth_(depth) {}

  void line(std::string_view text) {
    if (!text.empty()) text_.append(static_cast<std::size_t>(depth_) * 2, ' ').append(text);
    text_ += '\n';
  }
  /// Several lines, each ended by a newline.
  void lines(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin) == std::string_view::npos ? text.size() : text.find('\n', begin);
      line(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  /// A line that opens a block; its closing brace comes from close().
  void open(std::string_view text) {
    line(std::string(text) + " {");
    ++depth_;
  }
  /// A block without a head.
  void open_scope() {
    line("{");
    ++depth_;
  }
  void close(std::string_view after = "") {
    --depth_;
    line("}" + std::string(after));
  }
  /// `for (int64_t i = 0; i < N; ++i) {`
  void open_loop(std::string_view index, std::string_view extent) {
    open("for (int64_t " + std::string(index) + " = 0; " + std::string(index) + " < " + std::string(extent) + "; ++" + std::string(index) +
         ")");
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_ = 0;
};

}  // namespace kernsmith::agents
