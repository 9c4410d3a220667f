// The Metal Shading Language as far as the dialect of package gpu/msl goes, for a C++ compiler. No header of the host is
// included: a kernel text sees the names of the dialect and no others, and compiles in a fraction of a second.

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;

// Functions of runtime.cpp. They take places in the text as line numbers.
#define EMULATOR_HIDDEN extern "C" __attribute__((visibility("hidden")))
EMULATOR_HIDDEN void emulator_threadgroup(void* memory, ulong bytes);
EMULATOR_HIDDEN void emulator_barrier(uint flags, uint line);
EMULATOR_HIDDEN void emulator_simd_barrier(uint flags, uint line);
// emulator_exchange waits for the simdgroup and returns the values of its 32 lanes, 16 bytes apart.
EMULATOR_HIDDEN const void* emulator_exchange(uint line, const void* value, uint bytes);
EMULATOR_HIDDEN uint emulator_lane(void);

// The parts of runtime.cpp's structs that the function for each kernel uses: see writeLaunch.
namespace emulator {
struct Argument { void* begin; ulong bytes; void* shadow; ulong writable, threadgroup; };
struct Launch { uint groups[3], threads[3]; uint arguments, seed; const Argument* argument; };
struct Position { uint group[3], local[3], index; };
}
EMULATOR_HIDDEN void emulator_run(emulator::Launch*, void (*)(const emulator::Launch*, const emulator::Position*));
#define EMULATOR_KERNEL extern "C" __attribute__((visibility("default")))

namespace metal {

// Vectors: members, constructors and arithmetic by element.

#define EMULATOR_EACH2(V, A, B, OP) V(A.x OP B.x, A.y OP B.y)
#define EMULATOR_EACH3(V, A, B, OP) V(A.x OP B.x, A.y OP B.y, A.z OP B.z)
#define EMULATOR_EACH4(V, A, B, OP) V(A.x OP B.x, A.y OP B.y, A.z OP B.z, A.w OP B.w)
#define EMULATOR_OPERATOR(N, V, S, OP)                                          \
    inline V operator OP(V a, V b) { return EMULATOR_EACH##N(V, a, b, OP); }    \
    inline V operator OP(V a, S b) { return a OP V(b); }                        \
    inline V operator OP(S a, V b) { return V(a) OP b; }                        \
    inline V& operator OP##=(V& a, V b) { return a = a OP b; }                  \
    inline V& operator OP##=(V& a, S b) { return a = a OP V(b); }
#define EMULATOR_ARITHMETIC(N, V, S) \
    EMULATOR_OPERATOR(N, V, S, +)    \
    EMULATOR_OPERATOR(N, V, S, -)    \
    EMULATOR_OPERATOR(N, V, S, *)    \
    EMULATOR_OPERATOR(N, V, S, /)
#define EMULATOR_BITS(N, V, S)      \
    EMULATOR_OPERATOR(N, V, S, %)   \
    EMULATOR_OPERATOR(N, V, S, &)   \
    EMULATOR_OPERATOR(N, V, S, |)   \
    EMULATOR_OPERATOR(N, V, S, ^)   \
    EMULATOR_OPERATOR(N, V, S, <<)  \
    EMULATOR_OPERATOR(N, V, S, >>)

#define EMULATOR_VECTOR2(V, S)                                                  \
    struct alignas(8) V {                                                       \
        S x, y;                                                                 \
        V() = default;                                                          \
        constexpr V(S a) : x(a), y(a) {}                                        \
        constexpr V(S a, S b) : x(a), y(b) {}                                   \
        template <class O, class = decltype(O::y)>                              \
        explicit constexpr V(O o) : x(S(o.x)), y(S(o.y)) {}                     \
    };                                                                          \
    inline V operator-(V a) { return V(-a.x, -a.y); }                           \
    EMULATOR_ARITHMETIC(2, V, S)
#define EMULATOR_VECTOR3(V, S)                                                  \
    struct alignas(16) V {                                                      \
        S x, y, z;                                                              \
        V() = default;                                                          \
        constexpr V(S a) : x(a), y(a), z(a) {}                                  \
        constexpr V(S a, S b, S c) : x(a), y(b), z(c) {}                        \
    };                                                                          \
    EMULATOR_ARITHMETIC(3, V, S)
#define EMULATOR_VECTOR4(V, V2, S)                                              \
    struct alignas(16) V {                                                      \
        S x, y, z, w;                                                           \
        V() = default;                                                          \
        constexpr V(S a) : x(a), y(a), z(a), w(a) {}                            \
        constexpr V(S a, S b, S c, S d) : x(a), y(b), z(c), w(d) {}             \
        constexpr V(V2 a, V2 b) : x(a.x), y(a.y), z(b.x), w(b.y) {}             \
        constexpr V(V2 a, S c, S d) : x(a.x), y(a.y), z(c), w(d) {}             \
        template <class O, class = decltype(O::w)>                              \
        explicit constexpr V(O o) : x(S(o.x)), y(S(o.y)), z(S(o.z)), w(S(o.w)) {} \
    };                                                                          \
    inline V operator-(V a) { return V(-a.x, -a.y, -a.z, -a.w); }               \
    EMULATOR_ARITHMETIC(4, V, S)

EMULATOR_VECTOR2(float2, float)
EMULATOR_VECTOR2(uint2, uint)
EMULATOR_VECTOR2(int2, int)
EMULATOR_VECTOR3(uint3, uint)
EMULATOR_VECTOR4(float4, float2, float)
EMULATOR_VECTOR4(uint4, uint2, uint)
EMULATOR_VECTOR4(int4, int2, int)
EMULATOR_BITS(2, uint2, uint)
EMULATOR_BITS(2, int2, int)
EMULATOR_BITS(3, uint3, uint)
EMULATOR_BITS(4, uint4, uint)
EMULATOR_BITS(4, int4, int)

inline float dot(float2 a, float2 b) { return a.x * b.x + a.y * b.y; }
inline float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

// as_type returns the bits of one type as another of the same size.
template <class T, class O> inline T as_type(O o) {
    static_assert(sizeof(T) == sizeof(O), "as_type between types of different sizes");
    T t;
    __builtin_memcpy(&t, &o, sizeof t);
    return t;
}

// Functions that every device computes exactly.

#define EMULATOR_FUNCTION(NAME, F)                                              \
    inline float NAME(float a) { return F(a); }                                 \
    inline float2 NAME(float2 a) { return float2(F(a.x), F(a.y)); }             \
    inline float4 NAME(float4 a) { return float4(F(a.x), F(a.y), F(a.z), F(a.w)); }
#define EMULATOR_FUNCTION2(NAME, F)                                             \
    inline float NAME(float a, float b) { return F(a, b); }                     \
    inline float2 NAME(float2 a, float2 b) { return float2(F(a.x, b.x), F(a.y, b.y)); } \
    inline float4 NAME(float4 a, float4 b) { return float4(F(a.x, b.x), F(a.y, b.y), F(a.z, b.z), F(a.w, b.w)); }
#define EMULATOR_EXACT                                                          \
    EMULATOR_FUNCTION(floor, __builtin_floorf)                                  \
    EMULATOR_FUNCTION(ceil, __builtin_ceilf)                                    \
    EMULATOR_FUNCTION(trunc, __builtin_truncf)                                  \
    EMULATOR_FUNCTION(rint, __builtin_rintf)                                    \
    EMULATOR_FUNCTION(round, __builtin_roundf)                                  \
    EMULATOR_FUNCTION(abs, __builtin_fabsf)                                     \
    EMULATOR_FUNCTION(fabs, __builtin_fabsf)                                    \
    EMULATOR_FUNCTION2(fmin, __builtin_fminf)                                   \
    EMULATOR_FUNCTION2(fmax, __builtin_fmaxf)                                   \
    EMULATOR_FUNCTION2(min, __builtin_fminf)                                    \
    EMULATOR_FUNCTION2(max, __builtin_fmaxf)                                    \
    inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); } \
    inline float2 fma(float2 a, float2 b, float2 c) { return float2(fma(a.x, b.x, c.x), fma(a.y, b.y, c.y)); } \
    inline float4 fma(float4 a, float4 b, float4 c) {                           \
        return float4(fma(a.x, b.x, c.x), fma(a.y, b.y, c.y), fma(a.z, b.z, c.z), fma(a.w, b.w, c.w)); \
    }                                                                           \
    inline float clamp(float a, float low, float high) { return fmin(fmax(a, low), high); }

EMULATOR_EXACT
inline uint min(uint a, uint b) { return a < b ? a : b; }
inline uint max(uint a, uint b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline int abs(int a) { return a < 0 ? -a : a; }
inline uint clamp(uint a, uint low, uint high) { return min(max(a, low), high); }
inline int clamp(int a, int low, int high) { return min(max(a, low), high); }
inline float fract(float a) { return fmin(a - floor(a), 0x1.fffffep-1f); }
inline float copysign(float a, float b) { return __builtin_copysignf(a, b); }
inline float sign(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a == 0 ? a : 0.0f; }
inline float mix(float a, float b, float t) { return a + (b - a) * t; }
inline float step(float edge, float a) { return a < edge ? 0.0f : 1.0f; }
inline float ldexp(float a, int e) { return __builtin_ldexpf(a, e); }
inline float saturate(float a) { return clamp(a, 0.0f, 1.0f); }
inline bool isnan(float a) { return __builtin_isnan(a); }
inline bool isinf(float a) { return __builtin_isinf(a); }
inline bool isfinite(float a) { return __builtin_isfinite(a); }
inline uint popcount(uint a) { return uint(__builtin_popcount(a)); }
inline uint clz(uint a) { return a ? uint(__builtin_clz(a)) : 32; }
inline uint ctz(uint a) { return a ? uint(__builtin_ctz(a)) : 32; }
inline uint reverse_bits(uint a) {
    uint r = 0;
    for (uint i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
    return r;
}
inline uint mulhi(uint a, uint b) { return uint(ulong(a) * b >> 32); }
inline int mulhi(int a, int b) { return int(long(a) * b >> 32); }
template <class T> inline T select(T a, T b, bool second) { return second ? b : a; }

// Functions that come in two accuracies. The precise ones are the host's, within about one unit in the last place.

namespace precise {
EMULATOR_EXACT
inline float half_turns(float a) { return a - 2 * rint(a / 2); }  // exact
inline float exact_sinpi(float a) { return float(__builtin_sin(3.14159265358979323846 * double(half_turns(a)))); }
inline float exact_cospi(float a) { return float(__builtin_cos(3.14159265358979323846 * double(half_turns(a)))); }
inline float exact_exp10(float a) { return float(__builtin_pow(10.0, double(a))); }
inline float exact_rsqrt(float a) { return float(1 / __builtin_sqrt(double(a))); }
EMULATOR_FUNCTION(sin, __builtin_sinf)
EMULATOR_FUNCTION(cos, __builtin_cosf)
EMULATOR_FUNCTION(tan, __builtin_tanf)
EMULATOR_FUNCTION(sinpi, exact_sinpi)
EMULATOR_FUNCTION(cospi, exact_cospi)
EMULATOR_FUNCTION(asin, __builtin_asinf)
EMULATOR_FUNCTION(acos, __builtin_acosf)
EMULATOR_FUNCTION(atan, __builtin_atanf)
EMULATOR_FUNCTION(sinh, __builtin_sinhf)
EMULATOR_FUNCTION(cosh, __builtin_coshf)
EMULATOR_FUNCTION(tanh, __builtin_tanhf)
EMULATOR_FUNCTION(exp, __builtin_expf)
EMULATOR_FUNCTION(exp2, __builtin_exp2f)
EMULATOR_FUNCTION(exp10, exact_exp10)
EMULATOR_FUNCTION(log, __builtin_logf)
EMULATOR_FUNCTION(log2, __builtin_log2f)
EMULATOR_FUNCTION(log10, __builtin_log10f)
EMULATOR_FUNCTION(sqrt, __builtin_sqrtf)
EMULATOR_FUNCTION(rsqrt, exact_rsqrt)
inline float pow(float a, float b) { return __builtin_powf(a, b); }
inline float powr(float a, float b) { return __builtin_powf(a, b); }
inline float atan2(float a, float b) { return __builtin_atan2f(a, b); }
inline float fmod(float a, float b) { return __builtin_fmodf(a, b); }
inline float divide(float a, float b) { return a / b; }
inline float sincos(float a, float& c) {
    c = cos(a);
    return sin(a);
}
}  // namespace precise

// The fast ones are about as far off as the approximations of the hardware are: a text that needs more says precise.

namespace fast {
EMULATOR_EXACT
inline float coarse(float a) { return abs(a) < 1 ? rint(a * 0x1p22f) * 0x1p-22f : a; }
inline float coarse_sin(float a) { return coarse(__builtin_sinf(a)); }
inline float coarse_cos(float a) { return coarse(__builtin_cosf(a)); }
inline float coarse_tan(float a) { return coarse_sin(a) / coarse_cos(a); }
inline float coarse_sinpi(float a) { return coarse(precise::sinpi(a)); }
inline float coarse_cospi(float a) { return coarse(precise::cospi(a)); }
inline float coarse_exp(float a) { return __builtin_exp2f(a * 1.44269504f); }
inline float coarse_exp10(float a) { return __builtin_exp2f(a * 3.32192809f); }
inline float coarse_log2(float a) { return coarse(__builtin_log2f(a)); }
inline float coarse_log(float a) { return coarse_log2(a) * 0.69314718f; }
inline float coarse_log10(float a) { return coarse_log2(a) * 0.30103000f; }
inline float coarse_sqrt(float a) { return a > 0 && a <= 3.402823466e+38f ? a * precise::rsqrt(a) : __builtin_sqrtf(a); }
EMULATOR_FUNCTION(sin, coarse_sin)
EMULATOR_FUNCTION(cos, coarse_cos)
EMULATOR_FUNCTION(tan, coarse_tan)
EMULATOR_FUNCTION(sinpi, coarse_sinpi)
EMULATOR_FUNCTION(cospi, coarse_cospi)
EMULATOR_FUNCTION(asin, __builtin_asinf)
EMULATOR_FUNCTION(acos, __builtin_acosf)
EMULATOR_FUNCTION(atan, __builtin_atanf)
EMULATOR_FUNCTION(sinh, __builtin_sinhf)
EMULATOR_FUNCTION(cosh, __builtin_coshf)
EMULATOR_FUNCTION(tanh, __builtin_tanhf)
EMULATOR_FUNCTION(exp, coarse_exp)
EMULATOR_FUNCTION(exp2, __builtin_exp2f)
EMULATOR_FUNCTION(exp10, coarse_exp10)
EMULATOR_FUNCTION(log, coarse_log)
EMULATOR_FUNCTION(log2, coarse_log2)
EMULATOR_FUNCTION(log10, coarse_log10)
EMULATOR_FUNCTION(sqrt, coarse_sqrt)
EMULATOR_FUNCTION(rsqrt, precise::exact_rsqrt)
inline float pow(float a, float b) { return __builtin_exp2f(b * coarse_log2(a)); }
inline float powr(float a, float b) { return pow(a, b); }
inline float atan2(float a, float b) { return __builtin_atan2f(a, b); }
inline float fmod(float a, float b) { return __builtin_fmodf(a, b); }
inline float divide(float a, float b) { return a * (1 / b); }
inline float sincos(float a, float& c) {
    c = cos(a);
    return sin(a);
}
}  // namespace fast

// Barriers. Like Metal, the emulator orders only accesses to the memory that the flags name.

enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
inline void threadgroup_barrier(mem_flags flags, uint line = __builtin_LINE()) { emulator_barrier(uint(flags), line); }
inline void simdgroup_barrier(mem_flags flags, uint line = __builtin_LINE()) {
    emulator_simd_barrier(uint(flags), line);
}

// Functions of a simdgroup: the lanes exchange their values, then each one computes for itself. The value of a lane
// beyond the simdgroup is undefined: here it is a NaN.

#define EMULATOR_SIMD template <class T> __attribute__((no_sanitize("thread"))) inline

template <class T> struct lanes {
    const unsigned char* slots;
    lanes(T v, uint line) : slots((const unsigned char*)emulator_exchange(line, &v, sizeof(T))) {
        static_assert(sizeof(T) <= 16, "a simdgroup exchanges at most 16 bytes a lane");
    }
    __attribute__((no_sanitize("thread"))) T operator[](uint i) const {
        T v;
        __builtin_memset(&v, 0xff, sizeof v);
        if (i < 32) __builtin_memcpy(&v, slots + 16 * i, sizeof v);
        return v;
    }
};

#define EMULATOR_REDUCTION(NAME, COMBINE)                                       \
    EMULATOR_SIMD T NAME(T v, uint line = __builtin_LINE()) {                   \
        lanes<T> all(v, line);                                                  \
        T tree[32];                                                             \
        for (uint i = 0; i < 32; ++i) tree[i] = all[i];                         \
        for (uint half = 16; half > 0; half /= 2)                               \
            for (uint i = 0; i < half; ++i) {                                   \
                T a = tree[i], b = tree[i + half];                              \
                tree[i] = COMBINE;                                              \
            }                                                                   \
        return tree[0];                                                         \
    }
EMULATOR_REDUCTION(simd_sum, a + b)
EMULATOR_REDUCTION(simd_product, a * b)
EMULATOR_REDUCTION(simd_min, min(a, b))
EMULATOR_REDUCTION(simd_max, max(a, b))

#define EMULATOR_SHUFFLE(NAME, FROM)                                            \
    EMULATOR_SIMD T NAME(T v, ushort k, uint line = __builtin_LINE()) {         \
        return lanes<T>(v, line)[FROM];                                         \
    }
EMULATOR_SHUFFLE(simd_shuffle, k)
EMULATOR_SHUFFLE(simd_broadcast, k)
EMULATOR_SHUFFLE(simd_shuffle_xor, emulator_lane() ^ k)
EMULATOR_SHUFFLE(simd_shuffle_up, emulator_lane() - k)
EMULATOR_SHUFFLE(simd_shuffle_down, emulator_lane() + k)
EMULATOR_SIMD T simd_broadcast_first(T v, uint line = __builtin_LINE()) { return lanes<T>(v, line)[0]; }

EMULATOR_SIMD T simd_prefix_exclusive_sum(T v, uint line = __builtin_LINE()) {
    lanes<T> all(v, line);
    T sum = T(0);
    for (uint i = 0; i < emulator_lane(); ++i) sum += all[i];
    return sum;
}
EMULATOR_SIMD T simd_prefix_inclusive_sum(T v, uint line = __builtin_LINE()) {
    return simd_prefix_exclusive_sum(v, line) + v;
}
inline bool simd_any(bool v, uint line = __builtin_LINE()) { return simd_max(int(v), line) != 0; }
inline bool simd_all(bool v, uint line = __builtin_LINE()) { return simd_min(int(v), line) != 0; }

// Matrices of a simdgroup, for texts that Metal alone runs: CUDA has none of FP32. Which lane holds which values
// depends on the hardware. Here lane l holds 2l and 2l+1.

struct ulong2 {
    ulong x, y;
    ulong2(ulong a = 0) : x(a), y(a) {}
    ulong2(ulong a, ulong b) : x(a), y(b) {}
};
struct simdgroup_float8x8 {
    float2 own;
};
template <class T, int N> inline simdgroup_float8x8 make_filled_simdgroup_matrix(T v) {
    static_assert(N == 8, "the dialect has matrices of 8×8");
    return simdgroup_float8x8{float2(v)};
}
inline ulong emulator_place(uint i, ulong row, ulong2 origin, bool transposed) {
    ulong r = i / 8, c = i % 8;
    return transposed ? (origin.y + c) * row + origin.x + r : (origin.y + r) * row + origin.x + c;
}
inline void simdgroup_load(simdgroup_float8x8& d, const float* p, ulong row = 8, ulong2 origin = ulong2(0),
                           bool transposed = false, uint line = __builtin_LINE()) {
    uint i = 2 * emulator_lane();
    d.own.x = p[emulator_place(i, row, origin, transposed)];
    d.own.y = p[emulator_place(i + 1, row, origin, transposed)];
    lanes<float2>(d.own, line);
}
inline void simdgroup_store(simdgroup_float8x8 s, float* p, ulong row = 8, ulong2 origin = ulong2(0),
                            bool transposed = false, uint line = __builtin_LINE()) {
    uint i = 2 * emulator_lane();
    p[emulator_place(i, row, origin, transposed)] = s.own.x;
    p[emulator_place(i + 1, row, origin, transposed)] = s.own.y;
    lanes<float2>(s.own, line);
}
__attribute__((no_sanitize("thread"))) inline void simdgroup_multiply_accumulate(
    simdgroup_float8x8& d, simdgroup_float8x8 a, simdgroup_float8x8 b, simdgroup_float8x8 c, uint line = __builtin_LINE()) {
    float2 left[32], right[32];
    lanes<float2> from_a(a.own, line);
    for (uint i = 0; i < 32; ++i) left[i] = from_a[i];
    lanes<float2> from_b(b.own, line);
    for (uint i = 0; i < 32; ++i) right[i] = from_b[i];
    const float *x = &left[0].x + emulator_lane() / 4 * 8, *y = &right[0].x + emulator_lane() % 4 * 2;
    for (uint l = 0; l < 8; ++l) c.own = float2(fma(x[l], y[8 * l], c.own.x), fma(x[l], y[8 * l + 1], c.own.y));
    d = c;
}

}  // namespace metal

#define M_PI_F 3.14159265358979323846f
#define M_1_PI_F 0.318309886183790671538f
#define M_PI_2_F 1.57079632679489661923f
#define M_E_F 2.71828182845904523536f
#define M_LN2_F 0.693147180559945309417f
#define M_LOG2E_F 1.44269504088896340736f
#define M_SQRT2_F 1.41421356237309504880f
#define M_SQRT1_2_F 0.707106781186547524401f
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-7f
#define MAXFLOAT FLT_MAX

// threadgroup declarations have been rewritten before: see translate.go.
#define kernel static
#define device
#define thread
#define constant const
#define double double_is_outside_of_the_dialect
