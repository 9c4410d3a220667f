// A stand-in for Accelerate on systems without it: each function does what Apple's documentation says, slowly and in
// double precision, and aborts on what the documentation forbids. It shows that calls are put together rightly; it
// cannot show what Apple's code does.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                  \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "fake accelerate: %s: %s\n", __func__, #condition); \
            abort();                                                        \
        }                                                                   \
    } while (0)

typedef long stride;
typedef unsigned long length;
typedef struct { float *re, *im; } split;

static const double pi = 3.14159265358979323846;

void vDSP_vsmsa(const float *a, stride ia, const float *b, const float *c, float *d, stride id, length n) {
    for (length i = 0; i < n; i++) d[i * id] = a[i * ia] * *b + *c;
}
void vDSP_vsadd(const float *a, stride ia, const float *b, float *c, stride ic, length n) {
    for (length i = 0; i < n; i++) c[i * ic] = a[i * ia] + *b;
}
void vDSP_vadd(const float *a, stride ia, const float *b, stride ib, float *c, stride ic, length n) {
    for (length i = 0; i < n; i++) c[i * ic] = a[i * ia] + b[i * ib];
}
void vDSP_vmul(const float *a, stride ia, const float *b, stride ib, float *c, stride ic, length n) {
    for (length i = 0; i < n; i++) c[i * ic] = a[i * ia] * b[i * ib];
}
void vDSP_vma(const float *a, stride ia, const float *b, stride ib, const float *c, stride ic, float *d, stride id, length n) {
    for (length i = 0; i < n; i++) d[i * id] = (double)a[i * ia] * b[i * ib] + c[i * ic];
}
void vDSP_vsmul(const float *a, stride ia, const float *b, float *c, stride ic, length n) {
    for (length i = 0; i < n; i++) c[i * ic] = a[i * ia] * *b;
}
void vDSP_vabs(const float *a, stride ia, float *c, stride ic, length n) {
    for (length i = 0; i < n; i++) c[i * ic] = fabsf(a[i * ia]);
}
void vDSP_vsub(const float *b, stride ib, const float *a, stride ia, float *c, stride ic, length n) {
    for (length i = 0; i < n; i++) c[i * ic] = a[i * ia] - b[i * ib];
}
void vDSP_vthr(const float *a, stride ia, const float *b, float *c, stride ic, length n) {
    for (length i = 0; i < n; i++) c[i * ic] = a[i * ia] >= *b ? a[i * ia] : *b;
}
void vDSP_zvmags(const split *a, stride ia, float *c, stride ic, length n) {
    for (length i = 0; i < n; i++) c[i * ic] = (double)a->re[i * ia] * a->re[i * ia] + (double)a->im[i * ia] * a->im[i * ia];
}
void vDSP_zvabs(const split *a, stride ia, float *c, stride ic, length n) {
    for (length i = 0; i < n; i++) c[i * ic] = hypot(a->re[i * ia], a->im[i * ia]);
}
void vDSP_sve(const float *a, stride ia, float *c, length n) {
    double sum = 0;
    for (length i = 0; i < n; i++) sum += a[i * ia];
    *c = sum;
}
void vDSP_maxv(const float *a, stride ia, float *c, length n) {
    *c = -INFINITY;
    for (length i = 0; i < n; i++) if (a[i * ia] > *c) *c = a[i * ia];
}
void vDSP_meanv(const float *a, stride ia, float *c, length n) {
    double sum = 0;
    for (length i = 0; i < n; i++) sum += a[i * ia];
    *c = sum / n;
}
void vDSP_measqv(const float *a, stride ia, float *c, length n) {
    double squares = 0;
    for (length i = 0; i < n; i++) squares += (double)a[i * ia] * a[i * ia];
    *c = squares / n;
}
void vDSP_minv(const float *a, stride ia, float *c, length n) {
    *c = INFINITY;
    for (length i = 0; i < n; i++) if (a[i * ia] < *c) *c = a[i * ia];
}
void vDSP_maxvi(const float *a, stride ia, float *c, length *at, length n) {
    *c = -INFINITY;
    for (length i = 0; i < n; i++) if (a[i * ia] > *c) *c = a[i * ia], *at = i * ia;
}
void vDSP_conv(const float *a, stride ia, const float *f, stride jf, float *c, stride ic, length n, length p) {
    REQUIRE(ia == 1 || ia == -1 || ia != 0);
    for (length i = 0; i < n; i++) {
        double sum = 0;
        for (length j = 0; j < p; j++) sum += (double)a[(i + j) * ia] * f[(stride)j * jf];
        c[i * ic] = sum;
    }
}
void vDSP_desamp(const float *a, stride factor, const float *f, float *c, length n, length p) {
    REQUIRE(factor > 0);
    for (length i = 0; i < n; i++) {
        double sum = 0;
        for (length j = 0; j < p; j++) sum += (double)a[i * factor + j] * f[j];
        c[i] = sum;
    }
}
void vvlogf(float *y, const float *x, const int *n) {
    for (int i = 0; i < *n; i++) y[i] = log(x[i]);
}
void vvexpf(float *y, const float *x, const int *n) {
    for (int i = 0; i < *n; i++) y[i] = exp(x[i]);
}
void vvlog1pf(float *y, const float *x, const int *n) {
    for (int i = 0; i < *n; i++) y[i] = log1p(x[i]);
}
void vvlog10f(float *y, const float *x, const int *n) {
    for (int i = 0; i < *n; i++) y[i] = log10(x[i]);
}
void vvtanhf(float *y, const float *x, const int *n) {
    for (int i = 0; i < *n; i++) y[i] = tanh(x[i]);
}
void vvpowsf(float *z, const float *y, const float *x, const int *n) {
    double exponent = *y;
    for (int i = 0; i < *n; i++) z[i] = pow(x[i], exponent);
}

// A setup remembers what it was made for.
typedef struct { uint32_t magic; length n; int direction, real; double *coefficients; } setup;
enum { FFT = 0xff7, DFT = 0xdf7, BIQUAD = 0xb19 };

static setup *make(uint32_t magic, length n, int direction) {
    setup *s = calloc(1, sizeof *s);
    s->magic = magic, s->n = n, s->direction = direction;
    return s;
}
static void destroy(setup *s, uint32_t magic) {
    REQUIRE(s && s->magic == magic);
    s->magic = 0;
    free(s);
}

setup *vDSP_create_fftsetup(length log2n, int radix) {
    REQUIRE(radix == 0 && log2n <= 40);
    if (log2n > 24) return 0; // as if there were no memory
    return make(FFT, log2n, 0);
}
void vDSP_destroy_fftsetup(setup *s) { destroy(s, FFT); }

// turns has the cosines and sines of all multiples of 1/whole_turn of a turn. Each thread keeps those of its last length.
static _Thread_local double *turns;
static _Thread_local length whole_turn;

static void makeTurns(length n) {
    if (n == whole_turn) return;
    free(turns);
    turns = malloc(2 * n * sizeof *turns), whole_turn = n;
    for (length i = 0; i < n; i++) turns[2 * i] = cos(2 * pi * (double)i / n), turns[2 * i + 1] = sin(2 * pi * (double)i / n);
}

// fft writes the transform of the n values at every step-th place of re and im, by the smallest factor of n first. The
// length of all values is n times step.
static void fft(const double *re, const double *im, length step, double *outRe, double *outIm, length n, int direction) {
    if (n == 1) {
        *outRe = *re, *outIm = *im;
        return;
    }
    length p = 2;
    while (n % p) p++;
    length m = n / p;
    for (length r = 0; r < p; r++) fft(re + r * step, im + r * step, p * step, outRe + r * m, outIm + r * m, m, direction);
    double *bin = malloc(2 * p * sizeof *bin);
    for (length k = 0; k < m; k++) {
        for (length q = 0; q < p; q++) {
            bin[2 * q] = bin[2 * q + 1] = 0;
            for (length r = 0; r < p; r++) {
                const double *turn = turns + 2 * step * (r * (k + q * m) % n);
                double c = turn[0], s = -direction * turn[1];
                bin[2 * q] += outRe[r * m + k] * c - outIm[r * m + k] * s;
                bin[2 * q + 1] += outRe[r * m + k] * s + outIm[r * m + k] * c;
            }
        }
        for (length q = 0; q < p; q++) outRe[k + q * m] = bin[2 * q], outIm[k + q * m] = bin[2 * q + 1];
    }
    free(bin);
}

// The transform of n complex values, unscaled in both directions.
static void whole(const float *re, const float *im, float *outRe, float *outIm, length n, int direction) {
    double *work = malloc(4 * n * sizeof *work);
    for (length i = 0; i < n; i++) work[i] = re[i], work[n + i] = im[i];
    makeTurns(n);
    fft(work, work + n, 1, work + 2 * n, work + 3 * n, n, direction);
    for (length i = 0; i < n; i++) outRe[i] = work[2 * n + i], outIm[i] = work[3 * n + i];
    free(work);
}

void vDSP_fft_zip(setup *s, const split *c, stride ic, length log2n, int direction) {
    REQUIRE(s && s->magic == FFT && log2n <= s->n && ic == 1 && (direction == 1 || direction == -1));
    whole(c->re, c->im, c->re, c->im, 1ul << log2n, direction);
}

void vDSP_fft_zop(setup *s, const split *a, stride ia, const split *c, stride ic, length log2n, int direction) {
    REQUIRE(s && s->magic == FFT && log2n <= s->n && log2n >= 2 && ia == 1 && ic == 1 && (direction == 1 || direction == -1));
    REQUIRE(a->re != c->re && a->im != c->im);
    whole(a->re, a->im, c->re, c->im, 1ul << log2n, direction);
}

// Twice the transform of the even-odd packed signal, or n times the samples of a packed spectrum.
static void packed(const float *re, const float *im, float *outRe, float *outIm, length n, int direction) {
    double *in = calloc(4 * n, sizeof *in), *inIm = in + n, *out = in + 2 * n, *outImag = in + 3 * n;
    length half = n / 2;
    makeTurns(n);
    if (direction == 1) {
        for (length i = 0; i < half; i++) in[2 * i] = re[i], in[2 * i + 1] = im[i];
        fft(in, inIm, 1, out, outImag, n, 1);
        for (length k = 0; k < half; k++) outRe[k] = 2 * out[k], outIm[k] = 2 * outImag[k];
        outIm[0] = 2 * out[half];
    } else {
        in[0] = re[0], in[half] = im[0];
        for (length k = 1; k < half; k++) {
            in[k] = in[n - k] = re[k];
            inIm[k] = im[k], inIm[n - k] = -im[k];
        }
        fft(in, inIm, 1, out, outImag, n, -1);
        for (length i = 0; i < half; i++) outRe[i] = out[2 * i], outIm[i] = out[2 * i + 1];
    }
    free(in);
}

// The documentation takes log2n from 2 on.
void vDSP_fft_zrip(setup *s, const split *c, stride ic, length log2n, int direction) {
    REQUIRE(s && s->magic == FFT && log2n <= s->n && log2n >= 2 && ic == 1 && (direction == 1 || direction == -1));
    packed(c->re, c->im, c->re, c->im, 1ul << log2n, direction);
}

void vDSP_ctoz(const float *c, stride ic, const split *z, stride iz, length n) {
    REQUIRE(ic % 2 == 0);
    for (length i = 0; i < n; i++) z->re[i * iz] = c[i * ic], z->im[i * iz] = c[i * ic + 1];
}
void vDSP_ztoc(const split *z, stride iz, float *c, stride ic, length n) {
    REQUIRE(ic % 2 == 0);
    for (length i = 0; i < n; i++) c[i * ic] = z->re[i * iz], c[i * ic + 1] = z->im[i * iz];
}

// makeDFT makes a setup for f·2^k points, where f is 1, 3, 5 or 15 and k is at least leastTwos.
static setup *makeDFT(setup *previous, length n, int direction, int leastTwos, int real) {
    REQUIRE((!previous || (previous->magic == DFT && previous->real == real)) && (direction == 1 || direction == -1));
    length odd = n;
    int twos = 0;
    while (odd % 2 == 0) odd /= 2, twos++;
    if (twos < leastTwos || (odd != 1 && odd != 3 && odd != 5 && odd != 15)) return 0;
    setup *s = make(DFT, n, direction);
    s->real = real;
    return s;
}
setup *vDSP_DFT_zrop_CreateSetup(setup *previous, length n, int direction) { return makeDFT(previous, n, direction, 4, 1); }
setup *vDSP_DFT_zop_CreateSetup(setup *previous, length n, int direction) { return makeDFT(previous, n, direction, 3, 0); }
void vDSP_DFT_DestroySetup(setup *s) { destroy(s, DFT); }
void vDSP_DFT_Execute(const setup *s, const float *re, const float *im, float *outRe, float *outIm) {
    REQUIRE(s && s->magic == DFT && re != outRe && im != outIm);
    (s->real ? packed : whole)(re, im, outRe, outIm, s->n, s->direction);
}

setup *vDSP_biquad_CreateSetup(const double *c, length sections) {
    REQUIRE(sections >= 1);
    setup *s = make(BIQUAD, sections, 0);
    s->coefficients = malloc(5 * sections * sizeof *c);
    memcpy(s->coefficients, c, 5 * sections * sizeof *c);
    return s;
}
void vDSP_biquad_DestroySetup(setup *s) {
    free(s->coefficients);
    destroy(s, BIQUAD);
}
void vDSP_biquad(const setup *s, float *delay, const float *x, stride ix, float *y, stride iy, length n) {
    REQUIRE(s && s->magic == BIQUAD);
    for (length i = 0; i < n; i++) {
        double in = x[i * ix];
        float *d = delay; // of the section's last two inputs and outputs, the older one first
        for (length k = 0; k < s->n; k++, d += 2) {
            const double *c = s->coefficients + 5 * k;
            double out = c[0] * in + c[1] * d[1] + c[2] * d[0] - c[3] * d[3] - c[4] * d[2];
            d[0] = d[1], d[1] = in;
            in = out;
        }
        d[0] = d[1], d[1] = in;
        y[i * iy] = in;
    }
}

void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const float *alpha, const float *a,
            const int *lda, const float *b, const int *ldb, const float *beta, float *c, const int *ldc) {
    int at = *ta == 'T', bt = *tb == 'T';
    REQUIRE(*lda >= (at ? *k : *m) && *ldb >= (bt ? *n : *k) && *ldc >= *m);
    double *sums = malloc(*m * sizeof(double)); // of a column, so that the innermost loop reads neighbours
    for (int j = 0; j < *n; j++) {
        for (int i = 0; i < *m; i++) sums[i] = 0;
        for (int p = 0; p < *k; p++) {
            double factor = b[bt ? j + (size_t)p * *ldb : p + (size_t)j * *ldb];
            if (at)
                for (int i = 0; i < *m; i++) sums[i] += a[p + (size_t)i * *lda] * factor;
            else
                for (int i = 0; i < *m; i++) sums[i] += a[i + (size_t)p * *lda] * factor;
        }
        for (int i = 0; i < *m; i++) {
            double sum = sums[i];
            float *to = &c[i + (size_t)j * *ldc];
            *to = *beta == 0 ? *alpha * sum : *alpha * sum + *beta * *to;
        }
    }
    free(sums);
}
