// Prelude pieces "tanh", "erf" and "sincos".
#include "agents/synthesis/prelude_text.hpp"

namespace kernsmith::agents::prelude {

const std::string_view tanh_text = R"kernel(// ---- tanh: odd polynomial near 0, else 1 - 2 / (exp(2|x|) + 1); at most 2 ulp ----
static inline vf vtanh(vf x) {
  const vf size = vabs(x), z = x * x;
  vf p = vfma(vset(-0x1.95001ap-8f), z, vset(0x1.582fbp-6f));
  p = vfma(p, z, vset(-0x1.b90946p-5f));
  p = vfma(p, z, vset(0x1.110c72p-3f));
  p = vfma(p, z, vset(-0x1.555548p-2f));
  const vf near = vfma(p * z, x, x);
  const vf far = 1.0f - 2.0f / (vexp(2.0f * size) + 1.0f);
  return vcopysign(vselect(size < 0.5625f, near, far), x);
}
)kernel";

const std::string_view tanh_f64_text = R"kernel(static inline vd vtanh(vd x) {
  return ks_each(x, [](double v) { return std::tanh(v); });
}  // libm, lane by lane
)kernel";

const std::string_view erf_text = R"kernel(// ---- erf: odd polynomial near 0, else 1 - exp(q(|x|)) with q a fit of log(erfc); at most 2 ulp
// ----
static inline vf verf(vf x) {
  const vf size = vabs(x), z = x * x;
  vf p = vfma(vset(0x1.5fbd76p-14f), z, vset(-0x1.ab1e4cp-11f));
  p = vfma(p, z, vset(0x1.54e0f6p-8f));
  p = vfma(p, z, vset(-0x1.b81126p-6f));
  p = vfma(p, z, vset(0x1.ce2e28p-4f));
  p = vfma(p, z, vset(-0x1.812744p-2f));
  p = vfma(p, z, vset(0x1.06eba8p-3f));
  const vf near = vfma(p, x, x);
  const vf t = vmin_raw(vset(3.95f), size);  // from there on erf rounds to 1
  vf q = vfma(vset(0x1.9ae8d2p-13f), t, vset(-0x1.8ee154p-9f));
  q = vfma(q, t, vset(0x1.6c2a6ap-6f));
  q = vfma(q, t, vset(-0x1.a9b428p-4f));
  q = vfma(q, t, vset(-0x1.463cc2p-1f));
  q = vfma(q, t, vset(-0x1.20af5ap+0f));
  q = vfma(q, t, vset(-0x1.9a5ep-13f));
  return vselect(size < 0.92f, near, vcopysign(1.0f - vexp(q), x));
}
)kernel";

const std::string_view erf_f64_text = R"kernel(static inline vd verf(vd x) {
  return ks_each(x, [](double v) { return std::erf(v); });
}  // libm, lane by lane
)kernel";

const std::string_view sincos_text = R"kernel(// ---- sin and cos ----
// x = n pi / 2 + r, |r| <= pi / 4, pi / 2 in three parts; minimax polynomials in r^2. At most 2
// ulp. From |x| = 2^15 on, where three parts are not enough, the lanes are handed to libm.
static inline vf ks_sin_reduced(vf r, vf z) {
  vf p = vfma(vset(0x1.6ccf5ep-19f), z, vset(-0x1.a00f74p-13f));
  p = vfma(p, z, vset(0x1.111108p-7f));
  p = vfma(p, z, vset(-0x1.555556p-3f));
  return vfma(p * z, r, r);
}
static inline vf ks_cos_reduced(vf z) {
  vf p = vfma(vset(-0x1.241caap-22f), z, vset(0x1.a010d6p-16f));
  p = vfma(p, z, vset(-0x1.6c16b8p-10f));
  p = vfma(p, z, vset(0x1.555556p-5f));
  return vfma(p * z, z, vfma(vset(-0.5f), z, vset(1.0f)));
}
// sin(x + quarter_turns * pi / 2)
static inline vf ks_sin_turned(vf x, int quarter_turns) {
  const vf n = vround(x * 0x1.45f306p-1f);
  vf r = vfma(n, vset(-0x1.921fb6p+0f), x);
  r = vfma(n, vset(0x1.777a5cp-25f), r);
  r = vfma(n, vset(0x1.ee59dap-50f), r);
  const vi quadrant = to_vi(n) + quarter_turns;
  const vf z = r * r;
  vf y = vselect((quadrant & 1) == 0, ks_sin_reduced(r, z), ks_cos_reduced(z));
  y = (vf)((vi)y ^ ((quadrant & 2) << 30));
  const vi large = ~(vabs(x) < 32768.0f);
  if (__builtin_expect(vany(large), 0))
    for (int lane = 0; lane < VL; ++lane)
      if (large[lane]) y[lane] = quarter_turns == 0 ? std::sin(x[lane]) : std::cos(x[lane]);
  return y;
}
static inline vf vsin(vf x) { return vselect(x == 0.0f, x, ks_sin_turned(x, 0)); }  // keeps -0
static inline vf vcos(vf x) { return ks_sin_turned(x, 1); }
)kernel";

const std::string_view sincos_f64_text = R"kernel(static inline vd vsin(vd x) {
  return ks_each(x, [](double v) { return std::sin(v); });
}  // libm, lane by lane
static inline vd vcos(vd x) {
  return ks_each(x, [](double v) { return std::cos(v); });
}
)kernel";

}  // namespace kernsmith::agents::prelude
