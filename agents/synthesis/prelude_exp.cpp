// Prelude pieces "exp", "expm1" and "sigmoid".
#include "agents/synthesis/prelude_text.hpp"

namespace kernsmith::agents::prelude {

const std::string_view exp_text = R"kernel(// ---- exp ----
// exp(x) = 2^n exp(r) with n = round(x / ln 2), |r| <= ln 2 / 2; ln 2 in two parts keeps r exact.
// The polynomial is a minimax fit of (exp(r) - 1 - r) / r^2 (relative error of the whole 2^-28).
static inline vf ks_exp_reduced(vf r) {  // (exp(r) - 1 - r) / r^2
  vf p = vfma(vset(0x1.6a2352p-10f), r, vset(0x1.123a6cp-7f));
  p = vfma(p, r, vset(0x1.5558f4p-5f));
  p = vfma(p, r, vset(0x1.55549p-3f));
  return vfma(p, r, vset(0x1.fffffcp-2f));
}
static inline vf ks_exp_split(vf x, vf& n) {
  n = vround(x * 0x1.715476p+0f);
  return vfma(n, vset(0x1.05c61p-29f), vfma(n, vset(-0x1.62e43p-1f), x));
}
// x * 2^n for whole n; rounds once, so that results in the subnormal range are right.
static inline vf vscale(vf x, vf n) {
#if KS_AVX512
  return (vf)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
  const vi whole = to_vi(vmin_raw(vmax_raw(n, vset(-252.0f)), vset(254.0f))), half = whole >> 1;
  return x * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
#endif
}
// At most 1 ulp; overflows to infinity, underflows through the subnormals to 0, NaN stays NaN.
static inline vf vexp(vf x) {
  // Beyond these bounds the result is infinity or 0 anyway. The operand order lets NaN through.
  x = vmin_raw(vset(89.0f), vmax_raw(vset(-104.0f), x));
#if KS_AVX512
  // n in sixteenths: a register holds 2^(j/16), so that |r| <= ln 2 / 32 and a cubic is enough. The
  // shift leaves n's last four bits where the permutation looks for them; scalef rounds n down.
  const vf sixteenths = {0x1p+0f,        0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f,  0x1.3dea64p+0f,
                         0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
                         0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f};
  const vf shifted = vfma(x, vset(0x1.715476p+0f), vset(0x1.8p+19f)), n = shifted - 0x1.8p+19f;
  const vf r = vfma(n, vset(0x1.05c61p-29f), vfma(n, vset(-0x1.62e43p-1f), x));
  const vf power = (vf)_mm512_permutexvar_ps((__m512i)shifted, (__m512)sixteenths);
  const vf p = vfma(vfma(vset(0x1.5555p-3f), r, vset(0x1.0002ap-1f)), r * r, r);
  return vscale(vfma(power, p, power), n);
#else
  vf n;
  const vf r = ks_exp_split(x, n);
  return vscale(vfma(ks_exp_reduced(r) * r, r, r) + 1.0f, n);
#endif
}
)kernel";

const std::string_view exp_f64_text =
    R"kernel(// ---- exp in doubles: the same scheme, minimax fit of relative error 2^-64, at most 1 ulp ----
static inline vd vscale(vd x, vd n) {
#if KS_AVX512
  return (vd)_mm512_scalef_pd((__m512d)x, (__m512d)n);
#else
  const vl whole = (vl)_mm256_cvtepi32_epi64(_mm256_cvtpd_epi32((__m256d)vmin_raw(vmax_raw(n, vsetd(-2044.0)), vsetd(2046.0))));
  const vl half = whole >> 1;
  return x * (vd)((half + 1023) << 52) * (vd)((whole - half + 1023) << 52);
#endif
}
static inline vd vexp(vd x) {
  x = vmin_raw(vsetd(710.0), vmax_raw(vsetd(-746.0), x));
  const vd n = vround(x * 0x1.71547652b82fep+0);
  const vd r = vfma(n, vsetd(-0x1.abc9e3b39803fp-56), vfma(n, vsetd(-0x1.62e42fefa39efp-1), x));
  vd p = vfma(vsetd(0x1.1e3cd8160f88fp-29), r, vsetd(0x1.af6c61115528dp-26));
  p = vfma(p, r, vsetd(0x1.27e5b4f336b1dp-22));
  p = vfma(p, r, vsetd(0x1.71ddefdc92716p-19));
  p = vfma(p, r, vsetd(0x1.a01a0135fc258p-16));
  p = vfma(p, r, vsetd(0x1.a01a01b398f75p-13));
  p = vfma(p, r, vsetd(0x1.6c16c16c30783p-10));
  p = vfma(p, r, vsetd(0x1.111111110ec1ap-7));
  p = vfma(p, r, vsetd(0x1.5555555555502p-5));
  p = vfma(p, r, vsetd(0x1.555555555555bp-3));
  p = vfma(p, r, vsetd(0x1p-1));
  return vscale(vfma(p * r, r, r) + 1.0, n);
}
)kernel";

const std::string_view expm1_text = R"kernel(// ---- expm1: 2^n (expm1(r) + 1) - 1 without losing the small terms; at most 2 ulp ----
static inline vf vexpm1(vf x) {
  const vf inside = vmin_raw(vset(89.0f), vmax_raw(vset(-104.0f), x));
  vf n;
  const vf r = ks_exp_split(inside, n);
  const vf p = vfma(ks_exp_reduced(r) * r, r, r), scale = vscale(vset(1.0f), n);
  const vf y = vselect(n > 24.0f, vscale(p + 1.0f, n), vfma(scale, p, scale - 1.0f));  // beyond
                                                                                       // 2^24 the
                                                                                       // -1 is
                                                                                       // lost in
                                                                                       // rounding
  return vselect(x == 0.0f, x, y);                                                     // keeps -0
}
)kernel";

const std::string_view expm1_f64_text = R"kernel(static inline vd vexpm1(vd x) {
  return ks_each(x, [](double v) { return std::expm1(v); });
}  // libm, lane by lane
)kernel";

const std::string_view sigmoid_text = R"kernel(// ---- sigmoid: exp of the negative magnitude never overflows; at most 3 ulp, subnormal
// results included ----
static inline vf vsigmoid(vf x) {
  const vf e = vexp(-vabs(x));
  return vselect(x < 0.0f, e, vset(1.0f)) / (1.0f + e);
}
)kernel";

const std::string_view sigmoid_f64_text = R"kernel(static inline vd vsigmoid(vd x) {
  const vd e = vexp(-vabs(x));
  return vselect(x < 0.0, e, vsetd(1.0)) / (1.0 + e);
}
)kernel";

}  // namespace kernsmith::agents::prelude
