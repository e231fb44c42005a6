// Source texts of emitted contractions: what runs around the register tile.
#include "agents/synthesis/contraction_grammar_templates.hpp"

namespace kernsmith::agents::nest {

const std::string_view finish_lanes_text = R"kernel(
// From the sum of @LANES_NOTE@ to what is stored.
[[gnu::always_inline]] static inline void finish_lanes(const operands& t, [[maybe_unused]] const slice& s,
                                                       @ROW_PARAMETER@int64_t @COLUMN@, @SUMS@ sum, int lanes) {
@STEPS@
}
// Finishes rows x columns of sums.
static void finish(const operands& t, const slice& s, const sum_t* sums, int64_t ld, int64_t row0, int64_t rows, int64_t column0,
                   int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    int64_t j = 0;
    for (; j + LANES <= columns; j += LANES) finish_lanes(t, s, @ROW_ARGUMENT@column0 + j, @SLOAD@(sums + i * ld + j), LANES);
    if (j < columns) finish_lanes(t, s, @ROW_ARGUMENT@column0 + j, @SLOAD@(sums + i * ld + j), int(columns - j));
  }
}
)kernel";

const std::string_view finish_scalar_text = R"kernel(
// From one sum to what is stored.
static inline void finish_one(const operands& t, [[maybe_unused]] const slice& s, @ROW_PARAMETER@int64_t @COLUMN@, sum_t sum) {
@STEPS@
}
// Finishes rows x columns of sums.
static void finish(const operands& t, const slice& s, const sum_t* sums, int64_t ld, int64_t row0, int64_t rows, int64_t column0,
                   int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) finish_one(t, s, @ROW_ARGUMENT@column0 + j, sums[i * ld + j]);
}
)kernel";

const std::string_view block_text = R"kernel(
// Rows x columns of one matrix over a range of the depth. With `raw` the sums go there unfinished (row stride `raw_ld`).
static void block(const operands& t, const slice& s, range rows, range columns, range depth, sum_t* raw, int64_t raw_ld) {
  const int64_t depth_blocks = std::max<int64_t>(1, (depth.size() + KC - 1) / KC);
  const int64_t kc = (depth.size() + depth_blocks - 1) / depth_blocks;  // even blocks, none nearly empty
  const int64_t left_ld = (kc + LANES - 1) / LANES * LANES + LANES;
  alignas(64) sum_t tile[MR * NR];
  for (int64_t jc = columns.begin; jc < columns.end; jc += NC) {
    const int64_t nc = std::min(NC, columns.end - jc);
    const int64_t ld = raw ? raw_ld : depth_blocks > 1 ? (nc + NR - 1) / NR * NR : NR;
    // Sums that wait for the next depth block.
    sum_t* sums = raw ? raw + (jc - columns.begin) : depth_blocks > 1 ? scratch<sum_t, 2>((rows.size() + MR) * ld) : nullptr;
    for (int64_t pc = depth.begin; pc < depth.end; pc += kc) {
      const range k = {pc, std::min(pc + kc, depth.end)};
      @PACK_RIGHT@
      for (int64_t ic = rows.begin; ic < rows.end; ic += MC) {
        const int64_t mc = std::min(MC, rows.end - ic);
        @PACK_LEFT@
        for (int64_t j = 0; j < nc; j += NR) {
          @RIGHT_PANEL@
          for (int64_t i = 0; i < mc; i += MR) {
            @LEFT_PANEL@
            sum_t* out = sums ? sums + (ic - rows.begin + i) * ld + j : tile;
            multiply(left, @LEFT_STRIDES@, right, @RIGHT_STRIDE@, @STEPS_OF_DEPTH@, out, ld, pc > depth.begin);
            if (!raw && k.end == depth.end) finish(t, s, out, ld, ic + i, std::min<int64_t>(MR, mc - i), jc + j, std::min<int64_t>(NR, nc - j));
          }
        }
      }
    }
  }
}
)kernel";

const std::string_view run_shared_text = R"kernel(
static void run(const operands& t, int threads) {
  const int64_t rows = @ROWS@, columns = @COLUMNS@, depth = @DEPTH@, matrices = @MATRICES@;
  if (double(rows) * double(columns) * double(depth) * double(matrices) < SERIAL_BELOW) threads = 1;
  // Threads share a matrix only when there are fewer matrices than threads.
  const int64_t parts = matrices >= threads ? 1 : threads;
  @PARTS@
  const int64_t parts_per_matrix = row_parts * column_parts;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t task = 0; task < matrices * parts_per_matrix; ++task) {
    const int64_t matrix = task / parts_per_matrix, part = task % parts_per_matrix;
    const slice s = slice_of(t, matrix);
    const range my_rows = share(rows, row_parts, part / column_parts, @ROW_UNIT@);
    const range my_columns = share(columns, column_parts, part % column_parts, @COLUMN_UNIT@);
    @WORK@
  }
}
)kernel";

const std::string_view run_depth_text = R"kernel(
// Each thread sums over its share of the depth; then the shares are added up and finished.
static void run(const operands& t, int threads) {
  const int64_t rows = @ROWS@, columns = @COLUMNS@, depth = @DEPTH@, matrices = @MATRICES@;
  if (double(rows) * double(columns) * double(depth) * double(matrices) < SERIAL_BELOW) threads = 1;
  const int64_t parts = std::min<int64_t>(threads, (depth + DEPTH_UNIT - 1) / DEPTH_UNIT);
  const int64_t ld = (columns + NC - 1) / NC * NC + NR, slab = (rows + MR) * ld;
  sum_t* sums = scratch<sum_t, 3>(parts * slab);
  for (int64_t matrix = 0; matrix < matrices; ++matrix) {
    const slice s = slice_of(t, matrix);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t part = 0; part < parts; ++part)
      block(t, s, {0, rows}, {0, columns}, share(depth, parts, part, DEPTH_UNIT), sums + part * slab, ld);
    const int64_t chunks = (columns + NR - 1) / NR;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t piece = 0; piece < rows * chunks; ++piece) {
      const int64_t i = piece / chunks, j = piece % chunks * NR;
      sum_t* total = sums + i * ld + j;
      for (int64_t part = 1; part < parts; ++part)
        for (int64_t c = 0; c < NR; ++c) total[c] += total[part * slab + c];
      finish(t, s, total, ld, i, 1, j, std::min<int64_t>(NR, columns - j));
    }
  }
}
)kernel";

const std::string_view dot_text = R"kernel(
// out[i][j] = sum over k of a[i * ld + k] * right(k, column0 + j) for ROWS x COLUMNS; the right operand is streamed once.
template <int ROWS, int COLUMNS>
[[gnu::always_inline]] static inline void dot(const operands& t, const slice& s, const real* a, int64_t ld, int64_t column0, int64_t depth,
                                              real* out, int64_t out_ld) {
  vec sum[ROWS][COLUMNS][VECTORS];
#pragma GCC unroll 8
  for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < COLUMNS; ++j)
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; ++v) sum[i][j][v] = splat(0);
  int64_t k = 0;
  for (; k + VECTORS * LANES <= depth; k += VECTORS * LANES) {
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      vec right[COLUMNS];
#pragma GCC unroll 8
      for (int j = 0; j < COLUMNS; ++j) right[j] = right_depth(t, s, k + v * LANES, column0 + j, LANES);
      @PREFETCH@
#pragma GCC unroll 8
      for (int i = 0; i < ROWS; ++i) {
        const vec left = @LOAD@(a + i * ld + k + v * LANES);
#pragma GCC unroll 8
        for (int j = 0; j < COLUMNS; ++j) sum[i][j][v] = vfma(left, right[j], sum[i][j][v]);
      }
    }
  }
  for (; k < depth; k += LANES) {
    const int lanes = int(std::min<int64_t>(LANES, depth - k));
#pragma GCC unroll 8
    for (int j = 0; j < COLUMNS; ++j) {
      const vec right = first(right_depth(t, s, k, column0 + j, lanes), lanes);
#pragma GCC unroll 8
      for (int i = 0; i < ROWS; ++i) sum[i][j][0] = vfma(first(@LOAD@(a + i * ld + k), lanes), right, sum[i][j][0]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < COLUMNS; ++j) {
      vec total = sum[i][j][0];
#pragma GCC unroll 4
      for (int v = 1; v < VECTORS; ++v) total += sum[i][j][v];
      out[i * out_ld + j] = hsum(total);
    }
}

// Rows x columns of one matrix. The rows of the left operand are packed once; a strip of columns is streamed for each DOT_ROWS rows,
// from memory the first time and from the caches after that.
static void block(const operands& t, const slice& s, range rows, range columns, int64_t depth) {
  const int64_t ld = (depth + LANES - 1) / LANES * LANES + LANES;
  const int64_t row_limit = std::max<int64_t>(MR, LEFT_BYTES / int64_t(sizeof(real)) / ld / MR * MR);
  for (int64_t ic = rows.begin; ic < rows.end; ic += row_limit) {
    const int64_t mc = std::min(row_limit, rows.end - ic);
    real* left = scratch<real, 0>((mc + MR) * ld);
    pack_left(t, s, ic, mc, {0, depth}, left, ld);
    sum_t* sums = scratch<sum_t, 2>((mc + MR) * STRIP);
    for (int64_t jc = columns.begin; jc < columns.end; jc += STRIP) {
      const int64_t nc = std::min<int64_t>(STRIP, columns.end - jc);
      int64_t j = 0;
      for (; j + COLUMNS <= nc; j += COLUMNS)
        for (int64_t i = 0; i < mc; i += MR) dot<MR, COLUMNS>(t, s, left + i * ld, ld, jc + j, depth, sums + i * STRIP + j, STRIP);
      for (; j < nc; ++j)
        for (int64_t i = 0; i < mc; i += MR) dot<MR, 1>(t, s, left + i * ld, ld, jc + j, depth, sums + i * STRIP + j, STRIP);
      finish(t, s, sums, STRIP, ic, mc, jc, nc);
    }
  }
}
)kernel";

}  // namespace kernsmith::agents::nest
