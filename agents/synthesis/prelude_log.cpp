// Prelude pieces "log", "log1p", "pow" and "rsqrt".
#include "agents/synthesis/prelude_text.hpp"

namespace kernsmith::agents::prelude {

const std::string_view log_text = R"kernel(// ---- log ----
// x = 2^e m with m in [sqrt(1/2), sqrt(2)); log(m) = f - f^2 / 2 + f^3 p(f), f = m - 1, p a minimax
// fit (relative error of the whole 2^-30). At most 1 ulp; log(0) = -infinity, log of a negative
// number is NaN, subnormals are handled.
static inline vf vlog(vf x) {
  const vi tiny = x < 0x1p-126f;
  const vi shifted = (vi)vselect(tiny, x * 0x1p23f, x) - 0x3f3504f3;  // relative to sqrt(1/2)
  const vf e = to_vf((shifted >> 23) - (tiny & 23));
  const vf f = (vf)((shifted & 0x7fffff) + 0x3f3504f3) - 1.0f;
  vf p = vfma(vset(0x1.1457cp-4f), f, vset(-0x1.de3c1cp-4f));
  p = vfma(p, f, vset(0x1.e6f062p-4f));
  p = vfma(p, f, vset(-0x1.fc2206p-4f));
  p = vfma(p, f, vset(0x1.23376ap-3f));
  p = vfma(p, f, vset(-0x1.555c4ep-3f));
  p = vfma(p, f, vset(0x1.99a4b6p-3f));
  p = vfma(p, f, vset(-0x1.000006p-2f));
  p = vfma(p, f, vset(0x1.555548p-2f));
  const vf f2 = f * f;
  const vf tail = vfma(vset(-0.5f), f2, vfma(f * f2, p, e * -0x1.05c61p-29f));
  vf y = vfma(e, vset(0x1.62e43p-1f), f + tail);
  y = vselect(x > 0x1.fffffep+127f, x, y);  // infinity
  y = vselect(x == 0.0f, vset(-INFINITY), y);
  return vselect(x >= 0.0f, y, vset(NAN));
}
)kernel";

const std::string_view log_f64_text = R"kernel(// ---- log in doubles: with s = f / (2 + f), log(1 + f) = 2 s + s^3 p(s^2); minimax fit of
// relative error 2^-59, at most 1 ulp ----
static inline vd vlog(vd x) {
  const vl tiny = x < 0x1p-1022;
  const vl shifted = (vl)vselect(tiny, x * 0x1p52, x) - 0x3fe6a09e667f3bcd;  // relative to
                                                                             // sqrt(1/2)
  const vd e = to_vd((shifted >> 52) - (tiny & 52));
  const vd f = (vd)((shifted & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
  const vd s = f / (2.0 + f), z = s * s;
  vd p = vfma(vsetd(0x1.2f02e4f3d041ep-3), z, vsetd(0x1.39a1fbaedd716p-3));
  p = vfma(p, z, vsetd(0x1.74663c52cdc0bp-3));
  p = vfma(p, z, vsetd(0x1.c71c52164fd0dp-3));
  p = vfma(p, z, vsetd(0x1.24924941e0beap-2));
  p = vfma(p, z, vsetd(0x1.999999997fee9p-2));
  p = vfma(p, z, vsetd(0x1.5555555555592p-1));
  const vd half = 0.5 * f * f;  // 2 s = f - half + s * half, which keeps the large part exact
  vd y = vfma(e, vsetd(0x1.62e42fefap-1), f - (half - vfma(s, vfma(z, p, half), e * 0x1.cf79abc9e3b3ap-40)));
  y = vselect(x > 0x1.fffffffffffffp+1023, x, y);  // infinity
  y = vselect(x == 0.0, vsetd(-INFINITY), y);
  return vselect(x >= 0.0, y, vsetd(NAN));
}
)kernel";

const std::string_view log1p_text =
    R"kernel(// ---- log1p: log of the rounded sum plus what the rounding lost; at most 2 ulp ----
static inline vf vlog1p(vf x) {
  const vf u = 1.0f + x;
  const vf y = vlog(u) + (x - (u - 1.0f)) / u;
  return vselect(vabs(x) < 0x1p-25f, x, vselect((u > 0.0f) & (u < INFINITY), y, vlog(u)));  // tiny:
                                                                                            // keeps
                                                                                            // -0;
                                                                                            // the
                                                                                            // ends:
                                                                                            // no
                                                                                            // 0/0
}
)kernel";

const std::string_view log1p_f64_text = R"kernel(static inline vd vlog1p(vd x) {
  return ks_each(x, [](double v) { return std::log1p(v); });
}  // libm, lane by lane
)kernel";

const std::string_view pow_text = R"kernel(// ---- pow: exp(b log|a|) in doubles, rounded once at the end (at most 1 ulp), with the special
// cases of C's pow ----
static inline vf vpow(vf a, vf b) {
  const vf size = vabs(a);
  vf y = vjoin(vexp(vlow(b) * vlog(vlow(size))), vexp(vhigh(b) * vlog(vhigh(size))));
  y = vselect((size == 1.0f) & (vabs(b) == INFINITY), vset(1.0f), y);
  const vi whole = vfloor(b) == b, odd = whole & (vfloor(b * 0.5f) != b * 0.5f);
  y = vselect(odd, vcopysign(y, a), y);
  y = vselect((a < 0.0f) & (a > -INFINITY) & ~whole, vset(NAN), y);
  return vselect((b == 0.0f) | (a == 1.0f), vset(1.0f), y);
}
)kernel";

const std::string_view pow_f64_text = R"kernel(static inline vd vpow(vd a, vd b) {  // libm, lane by lane
  for (int lane = 0; lane < VLD; ++lane) a[lane] = std::pow(a[lane], b[lane]);
  return a;
}
)kernel";

const std::string_view rsqrt_text = R"kernel(// ---- rsqrt: two correctly rounded steps, at most 1.5 ulp ----
static inline vf vrsqrt(vf x) { return 1.0f / vsqrt(x); }
)kernel";

const std::string_view rsqrt_f64_text = R"kernel(static inline vd vrsqrt(vd x) { return 1.0 / vsqrt(x); }
)kernel";

}  // namespace kernsmith::agents::prelude
