// Metal Performance Shaders and MPSGraph: matrix products and Fourier transforms, by their definitions.
#include "metal.h"
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLOAT32 0x10000020u
#define COMPLEX_FLOAT32 0x11000040u

EXPORT bool MPSSupportsMTLDevice(id device) { return device && !option("no MPS"); }

// MPSMatrixDescriptor.
typedef struct {
    struct object object;
    NSUInteger rows, columns, row_bytes;
} descriptor_object;

static id descriptor_with(class *self, SEL name, NSUInteger rows, NSUInteger columns, NSUInteger row_bytes, uint32_t type) {
    if (type != FLOAT32 || rows == 0 || columns == 0 || row_bytes < 4 * columns || row_bytes % 4)
        die("%s of %llu×%llu with rows of %llu bytes and data type %#x", name, (unsigned long long)rows,
            (unsigned long long)columns, (unsigned long long)row_bytes, type);
    descriptor_object *d = (descriptor_object *)make(self);
    d->rows = rows, d->columns = columns, d->row_bytes = row_bytes;
    return autorelease(&d->object);
}
static const method descriptor_methods[] = {{0}};
static const method descriptor_on_class[] = {
    {"matrixDescriptorWithRows:columns:rowBytes:dataType:", descriptor_with}, {0}};
CLASS(MPSMatrixDescriptor, &NSObject_class, descriptor_object, descriptor_methods, descriptor_on_class, NULL)

// MPSMatrix.
typedef struct {
    struct object object;
    descriptor_object *shape;
    buffer_object *buffer;
    NSUInteger offset;
} matrix_object;

static id matrix_init(id self, SEL name, id buffer, NSUInteger offset, id descriptor) {
    matrix_object *m = (matrix_object *)self;
    m->shape = (descriptor_object *)retain(is(descriptor, &MPSMatrixDescriptor_class, "the descriptor"));
    m->buffer = (buffer_object *)retain(is(buffer, &MTLBuffer_class, "the buffer"));
    m->offset = offset;
    if (offset + m->shape->rows * m->shape->row_bytes > m->buffer->length)
        die("%s: the buffer of %llu bytes is too short", name, (unsigned long long)m->buffer->length);
    return self;
}
static void matrix_dealloc(id self) {
    release(&((matrix_object *)self)->shape->object);
    release(&((matrix_object *)self)->buffer->object);
}
static float *element(matrix_object *m, NSUInteger row, NSUInteger column) {
    return (float *)(m->buffer->contents + m->offset + row * m->shape->row_bytes) + column;
}
static const method matrix_methods[] = {{"initWithBuffer:offset:descriptor:", matrix_init}, {0}};
CLASS(MPSMatrix, &NSObject_class, matrix_object, matrix_methods, NULL, matrix_dealloc)

// MPSMatrixMultiplication.
typedef struct {
    struct object object;
    bool transpose_left, transpose_right;
    NSUInteger rows, columns, interior;
    double alpha, beta;
} multiplication_object;

typedef struct {
    multiplication_object of;
    matrix_object *left, *right, *result;
} multiplication;

static void multiplication_run(void *state) {
    multiplication *p = state;
    // On M1 and M2 some rows are NaN from 2^31 bytes on; tests name fewer.
    bool wrong = option("product bytes") && (p->of.rows + 2 * p->of.interior) * p->of.columns * 4 > (NSUInteger)option("product bytes");
    for (NSUInteger i = 0; i < p->of.rows; i++)
        for (NSUInteger j = 0; j < p->of.columns; j++) {
            double sum = 0;
            for (NSUInteger k = 0; k < p->of.interior; k++)
                sum += (double)*(p->of.transpose_left ? element(p->left, k, i) : element(p->left, i, k)) *
                       *(p->of.transpose_right ? element(p->right, j, k) : element(p->right, k, j));
            float *c = element(p->result, i, j);
            *c = wrong ? NAN : p->of.alpha * sum + (p->of.beta ? p->of.beta * *c : 0);
        }
}
static void multiplication_drop(void *state) {
    multiplication *p = state;
    release(&p->left->object), release(&p->right->object), release(&p->result->object);
    free(p);
}
static id multiplication_init(id self, SEL name, id device, bool transpose_left, bool transpose_right, NSUInteger rows,
                              NSUInteger columns, NSUInteger interior, double alpha, double beta) {
    multiplication_object *m = (multiplication_object *)self;
    struct object kept = m->object;
    *m = (multiplication_object){kept, transpose_left, transpose_right, rows, columns, interior, alpha, beta};
    if (!device || rows == 0 || columns == 0 || interior == 0)
        die("%s of %llu×%llu×%llu", name, (unsigned long long)rows, (unsigned long long)columns, (unsigned long long)interior);
    return self;
}
static matrix_object *operand(id matrix, bool transposed, NSUInteger rows, NSUInteger columns, const char *what) {
    matrix_object *m = is(matrix, &MPSMatrix_class, what);
    if (m->shape->rows < (transposed ? columns : rows) || m->shape->columns < (transposed ? rows : columns))
        die("%s is %llu×%llu, too small for the product", what, (unsigned long long)m->shape->rows,
            (unsigned long long)m->shape->columns);
    return (matrix_object *)retain(matrix);
}
static void multiplication_encode(id self, SEL name, id buffer, id left, id right, id result) {
    multiplication_object *m = (multiplication_object *)self;
    multiplication *p = malloc(sizeof *p);
    p->of = *m;
    p->left = operand(left, m->transpose_left, m->rows, m->interior, "the left matrix");
    p->right = operand(right, m->transpose_right, m->interior, m->columns, "the right matrix");
    p->result = operand(result, false, m->rows, m->columns, "the result matrix");
    append_library(buffer, (library_command){multiplication_run, multiplication_drop, p,
        {&p->left->buffer->object, &p->right->buffer->object, &p->result->buffer->object}});
}
static const method multiplication_methods[] = {
    {"initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:", multiplication_init},
    {"encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:", multiplication_encode},
    {0},
};
CLASS(MPSMatrixMultiplication, &NSObject_class, multiplication_object, multiplication_methods, NULL, NULL)

// MPSCommandBuffer.
typedef struct {
    struct object object;
    id buffer;
} wrapper_object;

static void wrapper_dealloc(id self) { release(((wrapper_object *)self)->buffer); }
static id wrapper_with(class *self, SEL name, id buffer) {
    wrapper_object *w = (wrapper_object *)make(self);
    w->buffer = retain(is(buffer, &MTLCommandBuffer_class, "the command buffer"));
    return autorelease(&w->object);
}
static id wrapper_buffer(id self, SEL name) { return ((wrapper_object *)self)->buffer; }
static const method wrapper_methods[] = {{"commandBuffer", wrapper_buffer}, {0}};
static const method wrapper_on_class[] = {{"commandBufferWithCommandBuffer:", wrapper_with}, {0}};
CLASS(MPSCommandBuffer, &NSObject_class, wrapper_object, wrapper_methods, wrapper_on_class, wrapper_dealloc)

// MPSGraphShapedType, also the type of tensors and of their data.
typedef struct {
    struct object object;
    id shape;
    uint32_t type;
} shaped_object;

static void shaped_dealloc(id self) { release(((shaped_object *)self)->shape); }
static void set_shape(shaped_object *s, id shape, uint32_t type) {
    if (array_count(shape) != 2 || (type != FLOAT32 && type != COMPLEX_FLOAT32))
        die("a tensor of %llu dimensions and data type %#x; the fake has 2, and Float32 and ComplexFloat32",
            (unsigned long long)array_count(shape), type);
    s->shape = retain(shape);
    s->type = type;
}
static NSUInteger extent(const shaped_object *s, NSUInteger i) { return number_value(array_at(s->shape, i)); }
static NSUInteger bytes(const shaped_object *s) { return extent(s, 0) * extent(s, 1) * (s->type == FLOAT32 ? 4 : 8); }
static id shaped_init(id self, SEL name, id shape, uint32_t type) {
    set_shape((shaped_object *)self, shape, type);
    return self;
}
static const method shaped_methods[] = {{"initWithShape:dataType:", shaped_init}, {0}};
CLASS(MPSGraphShapedType, &NSObject_class, shaped_object, shaped_methods, NULL, shaped_dealloc)

// MPSGraphTensor: a placeholder, or the transform of one.
typedef struct {
    shaped_object shaped;
    id source; // nil for a placeholder
    bool inverse; // of the transform that it is the result of
} tensor_object;

static void tensor_dealloc(id self) {
    release(((tensor_object *)self)->source);
    shaped_dealloc(self);
}
static const method tensor_methods[] = {{0}};
CLASS(MPSGraphTensor, &NSObject_class, tensor_object, tensor_methods, NULL, tensor_dealloc)

// MPSGraphTensorData.
typedef struct {
    shaped_object shaped;
    buffer_object *buffer;
} data_object;

static void data_dealloc(id self) {
    release(&((data_object *)self)->buffer->object);
    shaped_dealloc(self);
}
static id data_init(id self, SEL name, id buffer, id shape, uint32_t type) {
    data_object *d = (data_object *)self;
    set_shape(&d->shaped, shape, type);
    d->buffer = (buffer_object *)retain(is(buffer, &MTLBuffer_class, "the buffer"));
    if (bytes(&d->shaped) > d->buffer->length)
        die("%s: the buffer of %llu bytes is too short", name, (unsigned long long)d->buffer->length);
    return self;
}
static const method data_methods[] = {{"initWithMTLBuffer:shape:dataType:", data_init}, {0}};
CLASS(MPSGraphTensorData, &NSObject_class, data_object, data_methods, NULL, data_dealloc)

// MPSGraphFFTDescriptor.
typedef struct {
    struct object object;
    bool inverse, odd;
    NSUInteger scaling;
} fft_object;

static id fft_descriptor(class *self, SEL name) { return autorelease(make(self)); }
static void fft_set_inverse(id self, SEL name, bool inverse) { ((fft_object *)self)->inverse = inverse; }
static void fft_set_odd(id self, SEL name, bool odd) { ((fft_object *)self)->odd = odd; }
static void fft_set_scaling(id self, SEL name, NSUInteger scaling) { ((fft_object *)self)->scaling = scaling; }
static const method fft_methods[] = {{"setInverse:", fft_set_inverse}, {"setScalingMode:", fft_set_scaling},
    {"setRoundToOddHermitean:", fft_set_odd}, {0}};
static const method fft_on_class[] = {{"descriptor", fft_descriptor}, {0}};
CLASS(MPSGraphFFTDescriptor, &NSObject_class, fft_object, fft_methods, fft_on_class, NULL)

// MPSGraphDevice.
static id graph_device(class *self, SEL name, id device) {
    if (!device)
        die("%s without a device", name);
    return autorelease(make(self));
}
static const method graph_device_methods[] = {{0}};
static const method graph_device_on_class[] = {{"deviceWithMTLDevice:", graph_device}, {0}};
CLASS(MPSGraphDevice, &NSObject_class, struct object, graph_device_methods, graph_device_on_class, NULL)

// MPSGraphExecutable.
typedef struct {
    struct object object;
    id feed, target;
} executable_object;

typedef struct {
    data_object *from, *to;
    bool inverse;
} transform;

// dft sets y to the transform of the n values of x that are a stride apart: one of n/p values for each residue modulo the
// smallest prime p of n, and sums over those. w holds exp(-2πi·k/N) for the whole transform's N = n·step.
static void dft(double complex *y, const double complex *x, NSUInteger n, NSUInteger stride, const double complex *w,
                NSUInteger step) {
    NSUInteger p = 2;
    while (p < n && n % p)
        p++;
    if (n == 1 || p >= n) {
        for (NSUInteger k = 0; k < n; k++) {
            y[k] = 0;
            for (NSUInteger i = 0; i < n; i++)
                y[k] += x[i * stride] * w[i * k % n * step];
        }
        return;
    }
    NSUInteger m = n / p;
    double complex *parts = malloc(n * sizeof *parts);
    for (NSUInteger r = 0; r < p; r++)
        dft(parts + r * m, x + r * stride, m, stride * p, w, step * p);
    for (NSUInteger k = 0; k < n; k++) {
        y[k] = 0;
        for (NSUInteger r = 0; r < p; r++)
            y[k] += parts[r * m + k % m] * w[r * k % n * step];
    }
    free(parts);
}
static void transform_run(void *state) {
    transform *t = state;
    const shaped_object *in = &t->from->shaped, *out = &t->to->shaped;
    bool from_real = in->type == FLOAT32, to_real = out->type == FLOAT32;
    NSUInteger rows = extent(in, 0), given = extent(in, 1), wanted = extent(out, 1), n = to_real ? wanted : given;
    double complex *x = malloc(3 * n * sizeof *x), *y = x + n, *w = y + n;
    for (NSUInteger k = 0; k < n; k++)
        w[k] = cexp((t->inverse ? 2 : -2) * M_PI * I * (double)k / (double)n);
    for (NSUInteger row = 0; row < rows; row++) {
        const float *from = (float *)t->from->buffer->contents + row * given * (from_real ? 1 : 2);
        float *to = (float *)t->to->buffer->contents + row * wanted * (to_real ? 1 : 2);
        for (NSUInteger i = 0; i < n; i++)
            if (i < given)
                x[i] = from_real ? from[i] : from[2 * i] + from[2 * i + 1] * I;
            else
                x[i] = conj(x[n - i]);
        dft(y, x, n, 1, w, 1);
        for (NSUInteger k = 0; k < wanted; k++)
            if (to_real)
                to[k] = creal(y[k]);
            else
                to[2 * k] = creal(y[k]), to[2 * k + 1] = cimag(y[k]);
    }
    free(x);
}
static void transform_drop(void *state) {
    transform *t = state;
    release(&t->from->shaped.object), release(&t->to->shaped.object);
    free(t);
}
static void executable_dealloc(id self) {
    release(((executable_object *)self)->feed);
    release(((executable_object *)self)->target);
}
static data_object *only(id array, id tensor, const char *what) {
    if (array_count(array) != 1)
        die("%llu %s; the graph has 1", (unsigned long long)array_count(array), what);
    data_object *d = is(array_at(array, 0), &MPSGraphTensorData_class, what);
    const shaped_object *want = (shaped_object *)tensor;
    if (d->shaped.type != want->type || extent(&d->shaped, 0) != extent(want, 0) || extent(&d->shaped, 1) != extent(want, 1))
        die("the %s are of another type or shape than the graph's tensor", what);
    return (data_object *)retain(&d->shaped.object);
}
static id executable_encode(id self, SEL name, id buffer, id inputs, id results, id descriptor) {
    executable_object *e = (executable_object *)self;
    wrapper_object *w = is(buffer, &MPSCommandBuffer_class, "the command buffer");
    transform *t = malloc(sizeof *t);
    t->from = only(inputs, e->feed, "inputs");
    t->to = only(results, e->target, "results");
    t->inverse = ((tensor_object *)e->target)->inverse;
    if (t->from->buffer == t->to->buffer)
        die("%s in place", name);
    append_library(w->buffer, (library_command){transform_run, transform_drop, t,
        {&t->from->buffer->object, &t->to->buffer->object}});
    if (option("continue")) {
        id next = continue_buffer(w->buffer);
        release(w->buffer);
        w->buffer = next;
    }
    return autorelease(retain(results));
}
static const method executable_methods[] = {
    {"encodeToCommandBuffer:inputsArray:resultsArray:executionDescriptor:", executable_encode}, {0}};
CLASS(MPSGraphExecutable, &NSObject_class, executable_object, executable_methods, NULL, executable_dealloc)

// MPSGraph.
static id graph_placeholder(id self, SEL name, id shape, uint32_t type, id label) {
    tensor_object *t = (tensor_object *)make(&MPSGraphTensor_class);
    set_shape(&t->shaped, shape, type);
    return autorelease(&t->shaped.object);
}
// graph_fft is the transform from elements of one type to those of another. That to real values is an inverse one, and that
// from them a forward one.
static id graph_fft(id tensor, id axes, id descriptor, uint32_t from, uint32_t to, SEL name) {
    tensor_object *source = is(tensor, &MPSGraphTensor_class, "the tensor");
    fft_object *d = is(descriptor, &MPSGraphFFTDescriptor_class, "the descriptor");
    if (source->shaped.type != from || (from == FLOAT32 && d->inverse) || (to == FLOAT32 && !d->inverse) || d->scaling ||
        (d->odd && to != FLOAT32) || array_count(axes) != 1 || number_value(array_at(axes, 0)) != 1)
        die("%s of data type %#x, inverse %d, odd %d, scaled %llu, over axes other than the last: the fake has unscaled "
            "transforms of rows", name, source->shaped.type, d->inverse, d->odd, (unsigned long long)d->scaling);
    tensor_object *t = (tensor_object *)make(&MPSGraphTensor_class);
    t->source = retain(tensor);
    NSUInteger n = extent(&source->shaped, 1);
    t->inverse = d->inverse;
    if (from == FLOAT32)
        n = n / 2 + 1;
    else if (to == FLOAT32)
        n = 2 * (n - 1) + d->odd;
    const id shape[2] = {array_at(source->shaped.shape, 0), number(n)};
    set_shape(&t->shaped, array(shape, 2), to);
    return autorelease(&t->shaped.object);
}
static id graph_real(id self, SEL name, id tensor, id axes, id descriptor, id label) {
    return graph_fft(tensor, axes, descriptor, FLOAT32, COMPLEX_FLOAT32, name);
}
static id graph_complex(id self, SEL name, id tensor, id axes, id descriptor, id label) {
    return graph_fft(tensor, axes, descriptor, COMPLEX_FLOAT32, COMPLEX_FLOAT32, name);
}
static id graph_inverse_real(id self, SEL name, id tensor, id axes, id descriptor, id label) {
    return graph_fft(tensor, axes, descriptor, COMPLEX_FLOAT32, FLOAT32, name);
}
static id graph_compile(id self, SEL name, id device, id feeds, id targets, id operations, id descriptor) {
    is(device, &MPSGraphDevice_class, "the device");
    is(dictionary_value(feeds), &MPSGraphShapedType_class, "a feed");
    tensor_object *target = is(array_at(targets, 0), &MPSGraphTensor_class, "a target");
    if (target->source != dictionary_key(feeds))
        die("%s: the target does not depend on the feed", name);
    executable_object *e = (executable_object *)make(&MPSGraphExecutable_class);
    e->feed = retain(dictionary_key(feeds));
    e->target = retain(&target->shaped.object);
    return autorelease(&e->object);
}
static const method graph_methods[] = {
    {"placeholderWithShape:dataType:name:", graph_placeholder},
    {"realToHermiteanFFTWithTensor:axes:descriptor:name:", graph_real},
    {"HermiteanToRealFFTWithTensor:axes:descriptor:name:", graph_inverse_real},
    {"fastFourierTransformWithTensor:axes:descriptor:name:", graph_complex},
    {"compileWithDevice:feeds:targetTensors:targetOperations:compilationDescriptor:", graph_compile},
    {0},
};
CLASS(MPSGraph, &NSObject_class, struct object, graph_methods, NULL, NULL)
