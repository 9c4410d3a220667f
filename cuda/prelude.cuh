// What the kernel texts take from metal_stdlib, in CUDA's terms. NVRTC gets this text in place of <metal_stdlib>, with
// the kernels inside of namespace metal, so that the vector types here hide CUDA's own, which have neither constructors
// nor operators. Every function runs on the device (--device-as-default-execution-space). The macros of the address
// spaces come last, since `device` is also a part of what __device__ stands for.
#ifndef CROSSOVER_METAL_STDLIB
#define CROSSOVER_METAL_STDLIB

namespace metal {

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef decltype(sizeof(0)) size_t;

// Vector types, aligned so that a load or a store of one is a single instruction.

#define CROSSOVER_OPERATOR2(V, S, op)                                                                  \
    static inline V operator op(V a, V b) { return V(a.x op b.x, a.y op b.y); }                         \
    static inline V operator op(V a, S b) { return V(a.x op b, a.y op b); }                             \
    static inline V operator op(S a, V b) { return V(a op b.x, a op b.y); }                             \
    static inline V& operator op##=(V& a, V b) { return a = a op b; }                                   \
    static inline V& operator op##=(V& a, S b) { return a = a op b; }
#define CROSSOVER_OPERATOR3(V, S, op)                                                                  \
    static inline V operator op(V a, V b) { return V(a.x op b.x, a.y op b.y, a.z op b.z); }             \
    static inline V operator op(V a, S b) { return V(a.x op b, a.y op b, a.z op b); }                   \
    static inline V operator op(S a, V b) { return V(a op b.x, a op b.y, a op b.z); }                   \
    static inline V& operator op##=(V& a, V b) { return a = a op b; }                                   \
    static inline V& operator op##=(V& a, S b) { return a = a op b; }
#define CROSSOVER_OPERATOR4(V, S, op)                                                                  \
    static inline V operator op(V a, V b) { return V(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w); } \
    static inline V operator op(V a, S b) { return V(a.x op b, a.y op b, a.z op b, a.w op b); }         \
    static inline V operator op(S a, V b) { return V(a op b.x, a op b.y, a op b.z, a op b.w); }         \
    static inline V& operator op##=(V& a, V b) { return a = a op b; }                                   \
    static inline V& operator op##=(V& a, S b) { return a = a op b; }
#define CROSSOVER_ARITHMETIC(N, V, S) \
    CROSSOVER_OPERATOR##N(V, S, +)    \
    CROSSOVER_OPERATOR##N(V, S, -)    \
    CROSSOVER_OPERATOR##N(V, S, *)    \
    CROSSOVER_OPERATOR##N(V, S, /)
#define CROSSOVER_BITS(N, V, S)     \
    CROSSOVER_OPERATOR##N(V, S, %)  \
    CROSSOVER_OPERATOR##N(V, S, &)  \
    CROSSOVER_OPERATOR##N(V, S, |)  \
    CROSSOVER_OPERATOR##N(V, S, ^)  \
    CROSSOVER_OPERATOR##N(V, S, <<) \
    CROSSOVER_OPERATOR##N(V, S, >>)

#define CROSSOVER_VECTOR2(V, S, bytes)                                 \
    struct alignas(bytes) V {                                          \
        S x, y;                                                        \
        V() = default;                                                 \
        constexpr V(S a) : x(a), y(a) {}                               \
        constexpr V(S a, S b) : x(a), y(b) {}                          \
        template <class O, class = decltype(O::y)>                     \
        explicit constexpr V(O o) : x(S(o.x)), y(S(o.y)) {}            \
    };                                                                 \
    static inline V operator-(V a) { return V(-a.x, -a.y); }           \
    CROSSOVER_ARITHMETIC(2, V, S)
#define CROSSOVER_VECTOR3(V, S)                                        \
    struct V {                                                         \
        S x, y, z;                                                     \
        V() = default;                                                 \
        constexpr V(S a) : x(a), y(a), z(a) {}                         \
        constexpr V(S a, S b, S c) : x(a), y(b), z(c) {}               \
    };                                                                 \
    CROSSOVER_ARITHMETIC(3, V, S)
#define CROSSOVER_VECTOR4(V, V2, S, bytes)                             \
    struct alignas(bytes) V {                                          \
        S x, y, z, w;                                                  \
        V() = default;                                                 \
        constexpr V(S a) : x(a), y(a), z(a), w(a) {}                   \
        constexpr V(S a, S b, S c, S d) : x(a), y(b), z(c), w(d) {}    \
        constexpr V(V2 a, V2 b) : x(a.x), y(a.y), z(b.x), w(b.y) {}    \
        constexpr V(V2 a, S c, S d) : x(a.x), y(a.y), z(c), w(d) {}    \
        template <class O, class = decltype(O::w)>                     \
        explicit constexpr V(O o) : x(S(o.x)), y(S(o.y)), z(S(o.z)), w(S(o.w)) {} \
    };                                                                 \
    static inline V operator-(V a) { return V(-a.x, -a.y, -a.z, -a.w); } \
    CROSSOVER_ARITHMETIC(4, V, S)

CROSSOVER_VECTOR2(float2, float, 8)
CROSSOVER_VECTOR2(uint2, uint, 8)
CROSSOVER_VECTOR2(int2, int, 8)
CROSSOVER_VECTOR3(uint3, uint)
CROSSOVER_VECTOR4(float4, float2, float, 16)
CROSSOVER_VECTOR4(uint4, uint2, uint, 16)
CROSSOVER_VECTOR4(int4, int2, int, 16)
CROSSOVER_BITS(2, uint2, uint)
CROSSOVER_BITS(2, int2, int)
CROSSOVER_BITS(3, uint3, uint)
CROSSOVER_BITS(4, uint4, uint)
CROSSOVER_BITS(4, int4, int)

static inline float dot(float2 a, float2 b) { return a.x * b.x + a.y * b.y; }
static inline float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

// Bits of one type as another of the same size.
template <class T> struct bits;
template <> struct bits<float> {
    static float of(int v) { return __int_as_float(v); }
    static float of(uint v) { return __uint_as_float(v); }
    static float of(float v) { return v; }
};
template <> struct bits<uint> {
    static uint of(float v) { return __float_as_uint(v); }
    static uint of(int v) { return uint(v); }
    static uint of(uint v) { return v; }
};
template <> struct bits<int> {
    static int of(float v) { return __float_as_int(v); }
    static int of(uint v) { return int(v); }
    static int of(int v) { return v; }
};
template <class T, class S> static inline T as_type(S v) { return bits<T>::of(v); }

// Functions whose result does not depend on the accuracy asked for.

#define CROSSOVER_FUNCTION(name, f)                                                       \
    static inline float name(float a) { return f(a); }                                    \
    static inline float2 name(float2 a) { return float2(f(a.x), f(a.y)); }                \
    static inline float4 name(float4 a) { return float4(f(a.x), f(a.y), f(a.z), f(a.w)); }
#define CROSSOVER_FUNCTION2(name, f)                                                      \
    static inline float name(float a, float b) { return f(a, b); }                        \
    static inline float2 name(float2 a, float2 b) { return float2(f(a.x, b.x), f(a.y, b.y)); } \
    static inline float4 name(float4 a, float4 b) {                                       \
        return float4(f(a.x, b.x), f(a.y, b.y), f(a.z, b.z), f(a.w, b.w));                \
    }
#define CROSSOVER_EXACT                                                                   \
    CROSSOVER_FUNCTION(floor, ::floorf)                                                   \
    CROSSOVER_FUNCTION(ceil, ::ceilf)                                                     \
    CROSSOVER_FUNCTION(trunc, ::truncf)                                                   \
    CROSSOVER_FUNCTION(rint, ::rintf)                                                     \
    CROSSOVER_FUNCTION(round, ::roundf)                                                   \
    CROSSOVER_FUNCTION(abs, ::fabsf)                                                      \
    CROSSOVER_FUNCTION(fabs, ::fabsf)                                                     \
    CROSSOVER_FUNCTION2(fmin, ::fminf)                                                    \
    CROSSOVER_FUNCTION2(fmax, ::fmaxf)                                                    \
    CROSSOVER_FUNCTION2(min, ::fminf)                                                     \
    CROSSOVER_FUNCTION2(max, ::fmaxf)                                                     \
    static inline float fma(float a, float b, float c) { return ::fmaf(a, b, c); }        \
    static inline float2 fma(float2 a, float2 b, float2 c) {                              \
        return float2(fma(a.x, b.x, c.x), fma(a.y, b.y, c.y));                            \
    }                                                                                     \
    static inline float4 fma(float4 a, float4 b, float4 c) {                              \
        return float4(fma(a.x, b.x, c.x), fma(a.y, b.y, c.y), fma(a.z, b.z, c.z), fma(a.w, b.w, c.w)); \
    }                                                                                     \
    static inline float clamp(float a, float low, float high) { return ::fminf(::fmaxf(a, low), high); }

CROSSOVER_EXACT
static inline uint min(uint a, uint b) { return a < b ? a : b; }
static inline uint max(uint a, uint b) { return a > b ? a : b; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline int abs(int a) { return a < 0 ? -a : a; }
static inline uint clamp(uint a, uint low, uint high) { return min(max(a, low), high); }
static inline int clamp(int a, int low, int high) { return min(max(a, low), high); }
static inline float fract(float a) { return ::fminf(a - ::floorf(a), 0x1.fffffep-1f); }
static inline float copysign(float a, float b) { return ::copysignf(a, b); }
static inline float sign(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a == 0 ? a : 0.0f; }
static inline float mix(float a, float b, float t) { return a + (b - a) * t; }
static inline float step(float edge, float a) { return a < edge ? 0.0f : 1.0f; }
static inline float ldexp(float a, int e) { return ::ldexpf(a, e); }
static inline float saturate(float a) { return __saturatef(a); }
static inline bool isnan(float a) { return a != a; }
static inline bool isinf(float a) { return (__float_as_uint(a) & 0x7fffffffu) == 0x7f800000u; }
static inline bool isfinite(float a) { return (__float_as_uint(a) & 0x7f800000u) != 0x7f800000u; }
static inline uint popcount(uint a) { return __popc(a); }
static inline uint clz(uint a) { return __clz(a); }
static inline uint ctz(uint a) { return a ? __ffs(a) - 1 : 32; }
static inline uint reverse_bits(uint a) { return __brev(a); }
static inline uint mulhi(uint a, uint b) { return __umulhi(a, b); }
static inline int mulhi(int a, int b) { return __mulhi(a, b); }
template <class T> static inline T select(T a, T b, bool second) { return second ? b : a; }

// Functions that come in two accuracies: within a few units in the last place, and the device's own approximations.

namespace precise {
CROSSOVER_EXACT
CROSSOVER_FUNCTION(sin, ::sinf)
CROSSOVER_FUNCTION(cos, ::cosf)
CROSSOVER_FUNCTION(tan, ::tanf)
CROSSOVER_FUNCTION(sinpi, ::sinpif)
CROSSOVER_FUNCTION(cospi, ::cospif)
CROSSOVER_FUNCTION(asin, ::asinf)
CROSSOVER_FUNCTION(acos, ::acosf)
CROSSOVER_FUNCTION(atan, ::atanf)
CROSSOVER_FUNCTION(sinh, ::sinhf)
CROSSOVER_FUNCTION(cosh, ::coshf)
CROSSOVER_FUNCTION(tanh, ::tanhf)
CROSSOVER_FUNCTION(exp, ::expf)
CROSSOVER_FUNCTION(exp2, ::exp2f)
CROSSOVER_FUNCTION(exp10, ::exp10f)
CROSSOVER_FUNCTION(log, ::logf)
CROSSOVER_FUNCTION(log2, ::log2f)
CROSSOVER_FUNCTION(log10, ::log10f)
CROSSOVER_FUNCTION(sqrt, __fsqrt_rn)
CROSSOVER_FUNCTION(rsqrt, ::rsqrtf)
static inline float pow(float a, float b) { return ::powf(a, b); }
static inline float powr(float a, float b) { return ::powf(a, b); }
static inline float atan2(float a, float b) { return ::atan2f(a, b); }
static inline float fmod(float a, float b) { return ::fmodf(a, b); }
static inline float divide(float a, float b) { return __fdiv_rn(a, b); }
static inline float sincos(float a, float& c) {
    float s;
    ::sincosf(a, &s, &c);
    return s;
}
}  // namespace precise

namespace fast {
static inline float approximate_exp2(float a) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
    return y;
}
static inline float approximate_sqrt(float a) {
    float y;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(a));
    return y;
}
CROSSOVER_EXACT
CROSSOVER_FUNCTION(sin, __sinf)
CROSSOVER_FUNCTION(cos, __cosf)
CROSSOVER_FUNCTION(tan, __tanf)
CROSSOVER_FUNCTION(sinpi, ::sinpif)
CROSSOVER_FUNCTION(cospi, ::cospif)
CROSSOVER_FUNCTION(asin, ::asinf)
CROSSOVER_FUNCTION(acos, ::acosf)
CROSSOVER_FUNCTION(atan, ::atanf)
CROSSOVER_FUNCTION(sinh, ::sinhf)
CROSSOVER_FUNCTION(cosh, ::coshf)
CROSSOVER_FUNCTION(tanh, ::tanhf)
CROSSOVER_FUNCTION(exp, __expf)
CROSSOVER_FUNCTION(exp2, approximate_exp2)
CROSSOVER_FUNCTION(exp10, __exp10f)
CROSSOVER_FUNCTION(log, __logf)
CROSSOVER_FUNCTION(log2, __log2f)
CROSSOVER_FUNCTION(log10, __log10f)
CROSSOVER_FUNCTION(sqrt, approximate_sqrt)
CROSSOVER_FUNCTION(rsqrt, ::rsqrtf)
static inline float pow(float a, float b) { return __powf(a, b); }
static inline float powr(float a, float b) { return __powf(a, b); }
static inline float atan2(float a, float b) { return ::atan2f(a, b); }
static inline float fmod(float a, float b) { return ::fmodf(a, b); }
static inline float divide(float a, float b) { return __fdividef(a, b); }
static inline float sincos(float a, float& c) {
    float s;
    __sincosf(a, &s, &c);
    return s;
}
}  // namespace fast

// Barriers. A barrier of the threadgroup orders its accesses to device memory too.

enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
static inline mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
static inline void threadgroup_barrier(mem_flags) { __syncthreads(); }
static inline void simdgroup_barrier(mem_flags) { __syncwarp(); }

// Accesses to data that nobody reads again soon. The L2 cache gives up such data first, so that others stay. Texts ask for
// CROSSOVER_STREAMING before they use these, since Metal has nothing like them. The loads are volatile, so that one of them never
// stands for two.

#define CROSSOVER_STREAMING
static inline float streaming_load(const float* from) {
    float v;
    asm volatile("ld.global.cs.f32 %0, [%1];" : "=f"(v) : "l"(from));
    return v;
}
static inline float4 streaming_load(const float4* from) {
    float4 v;
    asm volatile("ld.global.cs.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(from));
    return v;
}
static inline void streaming_store(float* to, float v) { asm volatile("st.global.cs.f32 [%0], %1;" : : "l"(to), "f"(v) : "memory"); }
static inline void streaming_store(float4* to, float4 v) {
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" : : "l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
}

// 2^a, or 0 if that is a denormal, in one instruction. precise::exp2 takes the same one, within 2^-22, and four others around it for
// denormals. Texts ask for CROSSOVER_NORMAL_EXP2 before they use it, since Metal does not promise the like.

#define CROSSOVER_NORMAL_EXP2
static inline float normal_exp2(float a) { return fast::approximate_exp2(a); }

// A simdgroup is a warp, of which every lane takes part.

#define CROSSOVER_SHUFFLE_VECTORS(name, V2, V4)                                                               \
    static inline V2 name(V2 v, uint k) { return V2(name(v.x, k), name(v.y, k)); }                            \
    static inline V4 name(V4 v, uint k) { return V4(name(v.x, k), name(v.y, k), name(v.z, k), name(v.w, k)); }
#define CROSSOVER_SHUFFLE(name, intrinsic)                                                                    \
    static inline float name(float v, uint k) { return intrinsic(0xffffffffu, v, k); }                        \
    static inline uint name(uint v, uint k) { return intrinsic(0xffffffffu, v, k); }                          \
    static inline int name(int v, uint k) { return intrinsic(0xffffffffu, v, k); }                            \
    CROSSOVER_SHUFFLE_VECTORS(name, float2, float4)                                                           \
    CROSSOVER_SHUFFLE_VECTORS(name, uint2, uint4)                                                             \
    CROSSOVER_SHUFFLE_VECTORS(name, int2, int4)
CROSSOVER_SHUFFLE(simd_shuffle, __shfl_sync)
CROSSOVER_SHUFFLE(simd_broadcast, __shfl_sync)
CROSSOVER_SHUFFLE(simd_shuffle_xor, __shfl_xor_sync)
CROSSOVER_SHUFFLE(simd_shuffle_up, __shfl_up_sync)
CROSSOVER_SHUFFLE(simd_shuffle_down, __shfl_down_sync)
template <class T> static inline T simd_broadcast_first(T v) { return simd_shuffle(v, 0u); }

template <class T> static inline T simd_sum(T v) {
    for (uint k = 16; k > 0; k /= 2) v += simd_shuffle_xor(v, k);
    return v;
}
template <class T> static inline T simd_product(T v) {
    for (uint k = 16; k > 0; k /= 2) v *= simd_shuffle_xor(v, k);
    return v;
}
template <class T> static inline T simd_max(T v) {
    for (uint k = 16; k > 0; k /= 2) v = max(v, simd_shuffle_xor(v, k));
    return v;
}
template <class T> static inline T simd_min(T v) {
    for (uint k = 16; k > 0; k /= 2) v = min(v, simd_shuffle_xor(v, k));
    return v;
}
static inline uint lane_in_simdgroup() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}
template <class T> static inline T simd_prefix_inclusive_sum(T v) {
    uint lane = lane_in_simdgroup();
    for (uint k = 1; k < 32; k *= 2) {
        T below = simd_shuffle_up(v, k);
        if (lane >= k) v += below;
    }
    return v;
}
template <class T> static inline T simd_prefix_exclusive_sum(T v) {
    T below = simd_shuffle_up(simd_prefix_inclusive_sum(v), 1u);
    return lane_in_simdgroup() ? below : T(0);
}
static inline bool simd_any(bool v) { return __any_sync(0xffffffffu, v); }
static inline bool simd_all(bool v) { return __all_sync(0xffffffffu, v); }

}  // namespace metal

#define M_PI_F 3.14159265358979323846f
#define M_1_PI_F 0.318309886183790671538f
#define M_PI_2_F 1.57079632679489661923f
#define M_E_F 2.71828182845904523536f
#define M_LN2_F 0.693147180559945309417f
#define M_LOG2E_F 1.44269504088896340736f
#define M_SQRT2_F 1.41421356237309504880f
#define M_SQRT1_2_F 0.707106781186547524401f
#undef INFINITY
#undef NAN
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-7f
#define MAXFLOAT FLT_MAX

#define kernel static __forceinline__
#define threadgroup __shared__
#define thread
#define constant const
#define device

#endif
