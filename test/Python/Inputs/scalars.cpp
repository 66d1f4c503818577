// test_ptx_check.py compiles this file for the host and to PTX; both must compute the same bits. Each thread writes 40
// elements of `o`.
using bf = __bf16;
using hf = _Float16;
using u64 = unsigned long;
using u8 = unsigned char;
using s8 = signed char;
#ifdef HOST
#define GLOBAL extern "C"
#define PLACE , int t
#define THREAD
#else
#define GLOBAL extern "C" __attribute__((global))
#define PLACE
#define THREAD int t = __nvvm_read_ptx_sreg_tid_x() + 64 * __nvvm_read_ptx_sreg_ctaid_x();
#endif

GLOBAL void ints(int *o, const int *a, const int *b, const u64 *c, const u64 *d PLACE) {
  THREAD
  int x = a[t], y = b[t];
  u64 p = c[t], q = d[t];
  short h = (short)(x >> 3);
  u8 e = (u8)y;
  int *r = o + 40 * t;
  int k = 0;
  r[k++] = (y != 0 && !(x == (int)0x80000000 && y == -1)) ? x / y : 0;
  r[k++] = (y != 0 && y != -1) ? x % y : 0;
  r[k++] = __builtin_popcount(x);
  r[k++] = __builtin_clz(y | 1);
  r[k++] = __builtin_ctz(x | 1);
  r[k++] = __builtin_bswap32(x);
  r[k++] = __builtin_bitreverse32(y);
  r[k++] = (int)(p / (q | 1));
  r[k++] = (int)(p % (q | 5));
  r[k++] = __builtin_popcountl(p);
  r[k++] = __builtin_clzl(q | 1);
  r[k++] = (int)((unsigned __int128)p * q >> 64);
  r[k++] = (int)((__int128)(long)p * (long)q >> 64);
  r[k++] = (int)((unsigned)x << (y & 31));
  r[k++] = x >> (h & 31);
  r[k++] = (int)((unsigned)x >> (e & 31));
  r[k++] = (int)(p << (e & 63));
  r[k++] = (int)((long)q >> (e & 63));
  r[k++] = __builtin_rotateleft32(x, y & 31);
  r[k++] = (int)__builtin_rotateleft64(p, e & 63);
  r[k++] = h * e - (s8)e;
  r[k++] = x > y ? h : e;
  r[k++] = (x ^ y) & (h | 7) & ~e;
  r[k++] = x < y ? x : y;
  r[k++] = (unsigned)x > (unsigned)y ? x : y;
  r[k++] = __builtin_elementwise_add_sat(x, y);
  r[k++] = __builtin_elementwise_sub_sat(x, y);
  r[k++] = (int)((long)p < (long)q);
  r[k++] = p < q;
  r[k++] = (short)(h * h) / (short)(e | 1);
  r[k++] = (x >> 5) & 0x3ff;
  r[k++] = (x << 12) >> 22;
  r[k++] = (int)((long)x * y >> 32);
}
GLOBAL void floats(float *o, const float *a, const float *b, const double *c, const double *d PLACE) {
  THREAD
  float x = a[t], y = b[t];
  double p = c[t], q = d[t];
  hf h = (hf)x, g = (hf)y;
  bf e = (bf)x, f = (bf)y;
  float *r = o + 40 * t;
  int k = 0;
  r[k++] = x / y;
  r[k++] = __builtin_sqrtf(__builtin_fabsf(x));
  r[k++] = __builtin_fmaf(x, y, x);
  r[k++] = x * y;
  r[k++] = x + y;
  r[k++] = x - y;
  r[k++] = __builtin_fabsf(x);
  r[k++] = __builtin_copysignf(x, y);
  r[k++] = __builtin_floorf(x);
  r[k++] = __builtin_ceilf(y);
  r[k++] = __builtin_truncf(x);
  r[k++] = __builtin_rintf(y);
  r[k++] = (float)(p / q);
  r[k++] = (float)__builtin_sqrt(__builtin_fabs(p));
  r[k++] = (float)__builtin_fma(p, q, p);
  r[k++] = (float)(p * q);
  r[k++] = (float)(p + q);
  r[k++] = (float)__builtin_floor(p);
  r[k++] = (float)h;
  r[k++] = (float)e;
  r[k++] = (float)(h * g);
  r[k++] = (float)(h + g);
  r[k++] = (float)(h - g);
  r[k++] = (float)(e * f);
  r[k++] = (float)(e + f);
  r[k++] = (float)(h / g);
  r[k++] = x > -1e9f && x < 1e9f ? (float)(int)x : 0;
  r[k++] = y >= 0 && y < 4e9f ? (float)(unsigned)y : 0;
  r[k++] = p > -1e18 && p < 1e18 ? (float)(long)p : 0;
  r[k++] = x < y;
  r[k++] = h < g;
  r[k++] = e < f;
  r[k++] = x != x;
  r[k++] = (float)q;
  r[k++] = (float)(u64)((long)t * 0x123456789abcdefL);
  r[k++] = (float)((long)t * -0x123456789abcdefL);
}
