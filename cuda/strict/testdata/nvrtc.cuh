// What NVRTC declares without a header, as far as the prelude takes it, so that clang compiles a text as CUDA without NVIDIA's
// toolkit. NVRTC declares more. A text that needs more is refused until the declaration stands here. The overloads are CUDA's:
// a call that is ambiguous there is ambiguous here. Functions have no bodies, since nothing is linked.

// As in CUDA's host_defines.h, where the macro `device` of the prelude is a part of __device__ too.
#define __annotate__(a) __attribute__((a))
#define __location__(a) __annotate__(a)
#define __global__ __location__(global)
#define __device__ __location__(device)
#define __shared__ __location__(shared)
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __annotate__(launch_bounds(__VA_ARGS__))

#pragma clang force_cuda_host_device begin

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};
extern __device__ const uint3 threadIdx, blockIdx;
extern __device__ const dim3 blockDim, gridDim;

extern "C" {
int __float_as_int(float);
unsigned __float_as_uint(float);
float __int_as_float(int);
float __uint_as_float(unsigned);
int __popc(unsigned);
int __clz(int);
int __ffs(int);
unsigned __brev(unsigned);
unsigned __umulhi(unsigned, unsigned);
int __mulhi(int, int);
float __saturatef(float);
float __fsqrt_rn(float);
float __fdiv_rn(float, float);
float __fdividef(float, float);
float __sinf(float);
float __cosf(float);
float __tanf(float);
void __sincosf(float, float*, float*);
float __expf(float);
float __exp10f(float);
float __logf(float);
float __log2f(float);
float __log10f(float);
float __powf(float, float);

float floorf(float);
float ceilf(float);
float truncf(float);
float rintf(float);
float roundf(float);
float fabsf(float);
float fminf(float, float);
float fmaxf(float, float);
float fmaf(float, float, float);
float copysignf(float, float);
float ldexpf(float, int);
float fmodf(float, float);
float sinf(float);
float cosf(float);
float tanf(float);
void sincosf(float, float*, float*);
float sinpif(float);
float cospif(float);
float asinf(float);
float acosf(float);
float atanf(float);
float atan2f(float, float);
float sinhf(float);
float coshf(float);
float tanhf(float);
float expf(float);
float exp2f(float);
float exp10f(float);
float logf(float);
float log2f(float);
float log10f(float);
float sqrtf(float);
float rsqrtf(float);
float powf(float, float);
}

void __syncwarp(unsigned mask = 0xffffffffu);
int __any_sync(unsigned mask, int predicate);
int __all_sync(unsigned mask, int predicate);

#define SHUFFLES(T)                                           \
    T __shfl_sync(unsigned, T, int, int width = 32);          \
    T __shfl_up_sync(unsigned, T, unsigned, int width = 32);  \
    T __shfl_down_sync(unsigned, T, unsigned, int width = 32); \
    T __shfl_xor_sync(unsigned, T, int, int width = 32);
SHUFFLES(int)
SHUFFLES(unsigned)
SHUFFLES(long)
SHUFFLES(unsigned long)
SHUFFLES(long long)
SHUFFLES(unsigned long long)
SHUFFLES(float)
SHUFFLES(double)
#undef SHUFFLES
