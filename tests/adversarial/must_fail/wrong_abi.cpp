// expect: crashed
// problem: affine
// effort: search
// origin: invented
// why: a launch of another interface: it takes its arguments for plain pointers
extern "C" int launch(const float** in, float** out, long n) {
  for (long i = 0; i < n; ++i) out[0][i] = in[0][i];
  return 0;
}
