// Metal: device, buffers, libraries, queue, command buffers and encoders. Kernels are compiled and run by the test, which
// fake_connect names. A command buffer runs when it is waited for, and not before, after those that were committed before
// it: a host that reads without waiting reads old values.
#include "metal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 16384
#define MOST_BUFFERS 31
#define MOST_BYTES 4096

typedef struct {
    NSUInteger width, height, depth;
} MTLSize;
typedef struct {
    NSUInteger location, length;
} NSRange;

// What the test does for the fake. Functions return 0 where they fail, and then put a text into message.
typedef struct {
    void *memory;
    uint64_t offset, bytes; // of the memory from its beginning
    uint64_t value;         // whether it came from setBytes
} binding;
static struct {
    uint64_t (*compile)(const char *text, char *message, uint64_t size);             // returns a library
    uint64_t (*kernel)(uint64_t library, const char *name, uint64_t *most_threads);  // returns a kernel
    uint64_t (*run)(uint64_t kernel, const uint64_t *size, const binding *bindings, uint64_t count, char *message,
                    uint64_t message_size); // size is groups, then threads; returns 1
} test;

EXPORT void fake_connect(void *compile, void *kernel, void *run) {
    test.compile = compile;
    test.kernel = kernel;
    test.run = run;
}

// MTLBuffer.
static void buffer_dealloc(id self) {
    buffer_object *b = (buffer_object *)self;
    if (b->owned)
        free(b->contents);
}
static NSUInteger buffer_length(id self, SEL name) { return ((buffer_object *)self)->length; }
static const method buffer_methods[] = {{"length", buffer_length}, {0}};
CLASS(MTLBuffer, &NSObject_class, buffer_object, buffer_methods, NULL, buffer_dealloc)

static id new_buffer(NSUInteger length, NSUInteger options) {
    if (length == 0)
        die("a buffer of no bytes");
    if (options != 0 && options != 2 << 4)
        die("a buffer with options %llu; want storage mode shared (0) or private (32)", (unsigned long long)options);
    if (option("refuse buffers"))
        return NULL;
    buffer_object *b = (buffer_object *)make(&MTLBuffer_class);
    b->contents = aligned_alloc(PAGE, (length + PAGE - 1) / PAGE * PAGE);
    b->length = length;
    b->owned = true;
    memset(b->contents, 0xa5, length);
    return &b->object;
}

// MTLCompileOptions.
typedef struct {
    struct object object;
    bool fast_arithmetic, fast_functions;
} options_object;

static void since_15(SEL name) {
    if (option("macOS") && option("macOS") < 15)
        die("-[MTLCompileOptions %s]: unrecognized selector", name);
}
static void options_set_mode(id self, SEL name, NSInteger mode) {
    since_15(name);
    if (mode < 0 || mode > 2)
        die("%s %lld; want 0 (safe), 1 (relaxed) or 2 (fast)", name, (long long)mode);
    ((options_object *)self)->fast_arithmetic = mode != 0;
}
static void options_set_functions(id self, SEL name, NSInteger functions) {
    since_15(name);
    if (functions < 0 || functions > 1)
        die("%s %lld; want 0 (fast) or 1 (precise)", name, (long long)functions);
    ((options_object *)self)->fast_functions = functions == 0;
}
static void options_set_fast(id self, SEL name, bool fast) {
    ((options_object *)self)->fast_arithmetic = ((options_object *)self)->fast_functions = fast;
}
static id options_init(id self, SEL name) {
    options_set_fast(self, name, true); // Metal's default
    return self;
}
static const method options_methods[] = {
    {"init", options_init},
    {"setMathMode:", options_set_mode},
    {"setMathFloatingPointFunctions:", options_set_functions},
    {"setFastMathEnabled:", options_set_fast},
    {0},
};
CLASS(MTLCompileOptions, &NSObject_class, options_object, options_methods, NULL, NULL)

// MTLFunction.
typedef struct {
    struct object object;
    uint64_t kernel;
    NSUInteger most_threads;
} function_object;

static const method function_methods[] = {{0}};
CLASS(MTLFunction, &NSObject_class, function_object, function_methods, NULL, NULL)

// MTLLibrary.
typedef struct {
    struct object object;
    uint64_t handle;
} library_object;

static id library_function(id self, SEL name, id wanted) {
    uint64_t most = 0, kernel = test.kernel(((library_object *)self)->handle, string_text(wanted), &most);
    if (!kernel)
        return NULL;
    function_object *f = (function_object *)make(&MTLFunction_class);
    f->kernel = kernel;
    f->most_threads = most;
    return &f->object;
}
static const method library_methods[] = {{"newFunctionWithName:", library_function}, {0}};
CLASS(MTLLibrary, &NSObject_class, library_object, library_methods, NULL, NULL)

// MTLComputePipelineState.
static NSUInteger pipeline_most(id self, SEL name) { return ((function_object *)self)->most_threads; }
static NSUInteger pipeline_width(id self, SEL name) { return option("SIMD width") ? option("SIMD width") : 32; }
static const method pipeline_methods[] = {
    {"maxTotalThreadsPerThreadgroup", pipeline_most}, {"threadExecutionWidth", pipeline_width}, {0}};
CLASS(MTLComputePipelineState, &NSObject_class, function_object, pipeline_methods, NULL, NULL)

// MTLCommandBuffer and its commands.
typedef enum { DISPATCH, COPY, FILL, LIBRARY } kind;

typedef struct {
    kind kind;
    id uses[MOST_BUFFERS + 1]; // buffers, and the pipeline last
    function_object *pipeline; // of a dispatch
    uint64_t size[7];
    binding bindings[MOST_BUFFERS];
    uint8_t *values[MOST_BUFFERS]; // what setBytes was given
    int count;
    NSUInteger from, to, bytes; // of a copy from uses[0] to uses[1], of a fill of uses[0]
    uint8_t value;
    library_command library;
} command;

typedef enum { FRESH = 0, COMMITTED = 2, COMPLETED = 4, FAILED = 5 } buffer_status;

typedef struct {
    struct object object;
    id queue, error;
    bool retains;
    id encoder; // the one that is open, not retained
    command *commands;
    int count;
    buffer_status status;
    double start, end;
} command_buffer_object;

#define MOST_COMMITTED 1024
typedef struct {
    struct object object;
    pthread_mutex_t running;
    id committed[MOST_COMMITTED];
    int count;
    NSUInteger most;
} queue_object;

// fresh dies where a command buffer takes no more commands.
static command_buffer_object *fresh(id self, const char *what) {
    command_buffer_object *b = is(self, &MTLCommandBuffer_class, "the command buffer");
    if (b->status != FRESH)
        die("%s on a command buffer that is committed", what);
    if (b->encoder)
        die("%s on a command buffer while an encoder is open", what);
    return b;
}

static command *append(command_buffer_object *b, kind k) {
    b->commands = realloc(b->commands, (b->count + 1) * sizeof(command));
    command *c = &b->commands[b->count++];
    memset(c, 0, sizeof *c);
    c->kind = k;
    return c;
}

// use notes that a command needs an object until it has run. With unretained references that is the host's concern.
static void use(command_buffer_object *b, id *slot, id object) { *slot = b->retains ? retain(object) : object; }

void append_library(id self, library_command l) {
    command_buffer_object *b = fresh(self, "a library encodes");
    command *c = append(b, LIBRARY);
    c->library = l;
    for (int i = 0; i < 4 && l.uses[i]; i++)
        use(b, &c->uses[i], l.uses[i]);
}

static void command_buffer_dealloc(id self) {
    command_buffer_object *b = (command_buffer_object *)self;
    if (b->encoder)
        die("a command buffer is deallocated while an encoder is open");
    for (int i = 0; i < b->count; i++) {
        command *c = &b->commands[i];
        if (b->retains)
            for (int j = 0; j <= MOST_BUFFERS; j++)
                release(c->uses[j]);
        if (c->kind == LIBRARY)
            c->library.drop(c->library.state);
        for (int j = 0; j < MOST_BUFFERS; j++)
            free(c->values[j]);
    }
    free(b->commands);
    release(b->queue);
    release(b->error);
}

static double now = 1000; // the GPU's clock, in seconds
#define COMMAND_SECONDS 10e-6

// run_command returns false, with a message, where the GPU fails.
static bool run_command(command *c, char *message, size_t size) {
    for (int i = 0; i <= MOST_BUFFERS; i++)
        if (c->uses[i] && c->uses[i]->references <= 0)
            die("a command buffer runs with a %s that was deallocated", c->uses[i]->isa->name);
    now += COMMAND_SECONDS;
    switch (c->kind) {
    case DISPATCH:
        for (int i = 0; i < c->count; i++)
            if (c->bindings[i].value)
                c->bindings[i].memory = c->values[i];
        return option("idle") || test.run(c->pipeline->kernel, c->size, c->bindings, c->count, message, size);
    case COPY:
        memmove(((buffer_object *)c->uses[1])->contents + c->to, ((buffer_object *)c->uses[0])->contents + c->from, c->bytes);
        return true;
    case FILL:
        memset(((buffer_object *)c->uses[0])->contents + c->to, c->value, c->bytes);
        return true;
    case LIBRARY:
        if (!option("idle"))
            c->library.run(c->library.state);
        return true;
    }
    return false;
}

static void run_buffer(command_buffer_object *b) {
    char message[512] = "";
    bool good = true;
    NSInteger code = take_option("fail");
    now += COMMAND_SECONDS; // a pause before each
    b->start = now;
    b->status = COMPLETED;
    for (int i = 0; i < b->count && good; i++)
        good = run_command(&b->commands[i], message, sizeof message);
    b->end = now;
    if (!good || code) {
        b->status = FAILED;
        if (good)
            snprintf(message, sizeof message, "the test wants error %d", (int)code);
        b->error = retain(error("MTLCommandBufferErrorDomain", code ? code : 3, message));
    }
}

// run_until runs what was committed, in order, up to a command buffer.
static void run_until(queue_object *q, id last) {
    pthread_mutex_lock(&q->running);
    while (((command_buffer_object *)last)->status == COMMITTED) {
        id first = q->committed[0];
        run_buffer((command_buffer_object *)first);
        q->count--;
        memmove(q->committed, q->committed + 1, q->count * sizeof(id));
        release(first);
    }
    pthread_mutex_unlock(&q->running);
}

static id open_encoder(id self, class *c, SEL name);
extern class MTLComputeCommandEncoder_class, MTLBlitCommandEncoder_class;

static id command_buffer_compute(id self, SEL name) { return open_encoder(self, &MTLComputeCommandEncoder_class, name); }
static id command_buffer_blit(id self, SEL name) { return open_encoder(self, &MTLBlitCommandEncoder_class, name); }
static void command_buffer_commit(id self, SEL name) {
    command_buffer_object *b = fresh(self, "commit");
    queue_object *q = (queue_object *)b->queue;
    pthread_mutex_lock(&q->running);
    if (q->count == MOST_COMMITTED)
        die("more than %d command buffers in flight", MOST_COMMITTED);
    b->status = COMMITTED;
    q->committed[q->count++] = retain(self);
    pthread_mutex_unlock(&q->running);
}
static void command_buffer_wait(id self, SEL name) {
    command_buffer_object *b = (command_buffer_object *)self;
    if (b->status == FRESH)
        die("waitUntilCompleted on a command buffer that is not committed");
    run_until((queue_object *)b->queue, self);
}
static NSUInteger command_buffer_status(id self, SEL name) { return ((command_buffer_object *)self)->status; }
static id command_buffer_error(id self, SEL name) {
    id e = ((command_buffer_object *)self)->error;
    return e ? autorelease(retain(e)) : NULL;
}
static double command_buffer_start(id self, SEL name) {
    return option("no times") ? 0 : ((command_buffer_object *)self)->start;
}
static double command_buffer_end(id self, SEL name) { return option("no times") ? 0 : ((command_buffer_object *)self)->end; }

static const method command_buffer_methods[] = {
    {"computeCommandEncoder", command_buffer_compute},
    {"blitCommandEncoder", command_buffer_blit},
    {"commit", command_buffer_commit},
    {"waitUntilCompleted", command_buffer_wait},
    {"status", command_buffer_status},
    {"error", command_buffer_error},
    {"GPUStartTime", command_buffer_start},
    {"GPUEndTime", command_buffer_end},
    {0},
};
CLASS(MTLCommandBuffer, &NSObject_class, command_buffer_object, command_buffer_methods, NULL, command_buffer_dealloc)

static id new_command_buffer(id queue, bool retains) {
    command_buffer_object *b = (command_buffer_object *)make(&MTLCommandBuffer_class);
    b->queue = retain(queue);
    b->retains = retains;
    return &b->object;
}

id continue_buffer(id self) {
    command_buffer_object *b = is(self, &MTLCommandBuffer_class, "the command buffer");
    command_buffer_commit(self, NULL);
    return new_command_buffer(b->queue, b->retains);
}

// Encoders.
typedef struct {
    struct object object;
    command_buffer_object *buffer; // retained
    bool ended;
    function_object *pipeline;
    id bound[MOST_BUFFERS];
    binding bindings[MOST_BUFFERS];
    uint8_t *values[MOST_BUFFERS];
    NSUInteger threadgroup; // bytes of threadgroup memory at index 0
} encoder_object;

static id open_encoder(id self, class *c, SEL name) {
    command_buffer_object *b = fresh(self, name);
    encoder_object *e = (encoder_object *)make(c);
    e->buffer = (command_buffer_object *)retain(self);
    b->encoder = &e->object;
    return autorelease(&e->object);
}
static void encoder_dealloc(id self) {
    encoder_object *e = (encoder_object *)self;
    if (!e->ended)
        die("a %s is deallocated before endEncoding", self->isa->name);
    for (int i = 0; i < MOST_BUFFERS; i++)
        free(e->values[i]);
    release(&e->buffer->object);
}
static uint8_t *duplicate(const void *bytes, size_t length) { return memcpy(malloc(length), bytes, length); }
static encoder_object *encoding(id self, SEL name) {
    encoder_object *e = (encoder_object *)self;
    if (e->ended)
        die("%s after endEncoding", name);
    return e;
}
static void encoder_end(id self, SEL name) {
    encoder_object *e = encoding(self, name);
    e->ended = true;
    e->buffer->encoder = NULL;
}

static void compute_pipeline(id self, SEL name, id pipeline) {
    encoding(self, name)->pipeline = is(pipeline, &MTLComputePipelineState_class, "the pipeline");
}
static void check_index(NSUInteger index, SEL name) {
    if (index >= MOST_BUFFERS)
        die("%s with index %llu; want at most %d", name, (unsigned long long)index, MOST_BUFFERS - 1);
}
static void compute_bind(encoder_object *e, buffer_object *b, NSUInteger offset, NSUInteger index, SEL name) {
    if (offset >= b->length)
        die("%s with offset %llu in a buffer of %llu bytes", name, (unsigned long long)offset, (unsigned long long)b->length);
    if (offset % 4)
        die("%s with offset %llu; want a multiple of 4", name, (unsigned long long)offset);
    e->bound[index] = &b->object;
    e->bindings[index] = (binding){b->contents, offset, b->length, 0};
}
static void compute_buffer(id self, SEL name, id buffer, NSUInteger offset, NSUInteger index) {
    encoder_object *e = encoding(self, name);
    check_index(index, name);
    compute_bind(e, is(buffer, &MTLBuffer_class, "the buffer"), offset, index, name);
}
static void compute_offset(id self, SEL name, NSUInteger offset, NSUInteger index) {
    encoder_object *e = encoding(self, name);
    check_index(index, name);
    if (!e->bound[index])
        die("%s without a buffer at index %llu", name, (unsigned long long)index);
    compute_bind(e, (buffer_object *)e->bound[index], offset, index, name);
}
static void compute_bytes(id self, SEL name, const void *bytes, NSUInteger length, NSUInteger index) {
    encoder_object *e = encoding(self, name);
    check_index(index, name);
    if (length == 0 || length > MOST_BYTES)
        die("%s with %llu bytes; want 1 to %d", name, (unsigned long long)length, MOST_BYTES);
    free(e->values[index]);
    e->values[index] = duplicate(bytes, length);
    e->bound[index] = NULL;
    e->bindings[index] = (binding){NULL, 0, length, 1};
}
#define MOST_THREADGROUP 32768
static void compute_threadgroup(id self, SEL name, NSUInteger length, NSUInteger index) {
    encoder_object *e = encoding(self, name);
    if (length % 16 || length > MOST_THREADGROUP)
        die("%s with %llu bytes; want a multiple of 16 up to %d", name, (unsigned long long)length, MOST_THREADGROUP);
    if (index)
        die("%s with index %llu; want 0, which is what the kernels have", name, (unsigned long long)index);
    e->threadgroup = length;
}
static void compute_dispatch(id self, SEL name, MTLSize groups, MTLSize threads) {
    encoder_object *e = encoding(self, name);
    if (!e->pipeline)
        die("%s without a pipeline", name);
    const uint64_t size[7] = {groups.width, groups.height, groups.depth, threads.width, threads.height, threads.depth, e->threadgroup};
    for (int i = 0; i < 6; i++)
        if (size[i] == 0 || size[i] > UINT32_MAX)
            die("%s with an extent of %llu", name, (unsigned long long)size[i]);
    if (size[3] * size[4] * size[5] > e->pipeline->most_threads)
        die("%s with %llu threads in a threadgroup; the pipeline takes %llu", name,
            (unsigned long long)(size[3] * size[4] * size[5]), (unsigned long long)e->pipeline->most_threads);
    command *c = append(e->buffer, DISPATCH);
    c->pipeline = e->pipeline;
    memcpy(c->size, size, sizeof size);
    memcpy(c->bindings, e->bindings, sizeof e->bindings);
    use(e->buffer, &c->uses[MOST_BUFFERS], &e->pipeline->object);
    for (int i = 0; i < MOST_BUFFERS; i++) {
        if (e->bindings[i].bytes)
            c->count = i + 1;
        if (e->bindings[i].value)
            c->values[i] = duplicate(e->values[i], e->bindings[i].bytes);
        if (e->bound[i])
            use(e->buffer, &c->uses[i], e->bound[i]);
    }
}

static const method compute_methods[] = {
    {"endEncoding", encoder_end},
    {"setComputePipelineState:", compute_pipeline},
    {"setBuffer:offset:atIndex:", compute_buffer},
    {"setBufferOffset:atIndex:", compute_offset},
    {"setBytes:length:atIndex:", compute_bytes},
    {"setThreadgroupMemoryLength:atIndex:", compute_threadgroup},
    {"dispatchThreadgroups:threadsPerThreadgroup:", compute_dispatch},
    {0},
};
CLASS(MTLComputeCommandEncoder, &NSObject_class, encoder_object, compute_methods, NULL, encoder_dealloc)

static void check_range(buffer_object *b, NSUInteger from, NSUInteger bytes, SEL name) {
    if (bytes == 0 || from > b->length || bytes > b->length - from)
        die("%s of %llu bytes at %llu in a buffer of %llu", name, (unsigned long long)bytes, (unsigned long long)from,
            (unsigned long long)b->length);
    if (from % 4 || bytes % 4)
        die("%s of %llu bytes at %llu; macOS wants multiples of 4", name, (unsigned long long)bytes, (unsigned long long)from);
}
static void blit_copy(id self, SEL name, id source, NSUInteger from, id target, NSUInteger to, NSUInteger bytes) {
    encoder_object *e = encoding(self, name);
    check_range(is(source, &MTLBuffer_class, "the source"), from, bytes, name);
    check_range(is(target, &MTLBuffer_class, "the target"), to, bytes, name);
    command *c = append(e->buffer, COPY);
    use(e->buffer, &c->uses[0], source);
    use(e->buffer, &c->uses[1], target);
    c->from = from, c->to = to, c->bytes = bytes;
}
static void blit_fill(id self, SEL name, id buffer, NSRange range, uint8_t value) {
    encoder_object *e = encoding(self, name);
    check_range(is(buffer, &MTLBuffer_class, "the buffer"), range.location, range.length, name);
    command *c = append(e->buffer, FILL);
    use(e->buffer, &c->uses[0], buffer);
    c->to = range.location, c->bytes = range.length, c->value = value;
}

static const method blit_methods[] = {
    {"endEncoding", encoder_end},
    {"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", blit_copy},
    {"fillBuffer:range:value:", blit_fill},
    {0},
};
CLASS(MTLBlitCommandEncoder, &NSObject_class, encoder_object, blit_methods, NULL, encoder_dealloc)

// MTLCommandQueue.
static id queue_buffer(id self, SEL name) { return autorelease(new_command_buffer(self, true)); }
static id queue_unretained(id self, SEL name) { return autorelease(new_command_buffer(self, false)); }
static const method queue_methods[] = {
    {"commandBuffer", queue_buffer}, {"commandBufferWithUnretainedReferences", queue_unretained}, {0}};
CLASS(MTLCommandQueue, &NSObject_class, queue_object, queue_methods, NULL, NULL)

// MTLDevice.
static id device_name(id self, SEL name) { return string("Fake M1"); }
// The option names the newest of Apple's families. The device has the older ones too. A virtual device stops at 5, and
// besides has only the common families.
static bool device_family(id self, SEL name, NSInteger family) {
    NSInteger youngest = option("family") ? option("family") : 7;
    if (family > 1000 && family < 2000)
        return family - 1000 <= youngest;
    if (family == 2002 || family == 5001)
        return youngest >= 7;
    if (family == 5002)
        return youngest >= 9;
    return family > 3000 && family <= 3003;
}
static bool device_unified(id self, SEL name) { return !option("own memory"); }
static uint64_t device_working_set(id self, SEL name) { return 1 << 30; }
static NSUInteger device_most_length(id self, SEL name) { return 1 << 28; }
static MTLSize device_most_threads(id self, SEL name) { return (MTLSize){1024, 1024, 1024}; }
static NSUInteger device_threadgroup_memory(id self, SEL name) { return 32 << 10; }

static id device_queue(id self, SEL name, NSUInteger most) {
    queue_object *q = (queue_object *)make(&MTLCommandQueue_class);
    q->most = most;
    pthread_mutex_init(&q->running, NULL);
    return &q->object;
}
static id device_buffer(id self, SEL name, NSUInteger length, NSUInteger options) { return new_buffer(length, options); }
static id device_buffer_no_copy(id self, SEL name, void *bytes, NSUInteger length, NSUInteger options, id deallocator) {
    if ((uintptr_t)bytes % PAGE || length % PAGE || length == 0)
        die("%s of %llu bytes at %p; want whole pages of %d", name, (unsigned long long)length, bytes, PAGE);
    if (options != 0)
        die("%s with options %llu; want storage mode shared", name, (unsigned long long)options);
    if (deallocator)
        die("%s with a deallocator: the fake has no blocks", name);
    if (option("refuse buffers"))
        return NULL;
    buffer_object *b = (buffer_object *)make(&MTLBuffer_class);
    b->contents = bytes;
    b->length = length;
    return &b->object;
}
// Apple's headers use names like N for themselves, which a macro before them would replace.
static void check_macros(const char *text, SEL name) {
    static const char library[] = "#include <metal_stdlib>", macro[] = "#define";
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        line += strspn(line, " \t");
        if (strncmp(line, library, sizeof library - 1) == 0)
            return;
        if (strncmp(line, macro, sizeof macro - 1) == 0)
            die("%s of a text that defines a macro before it includes metal_stdlib: %.*s", name, (int)strcspn(line, "\n"), line);
    }
}
static id device_library(id self, SEL name, id source, id options, id *failure) {
    char message[4096] = "";
    check_macros(string_text(source), name);
    options_object *o = is(options, &MTLCompileOptions_class, "the options");
    if (o->fast_arithmetic)
        fake_set("fast arithmetic", 1);
    if (o->fast_functions)
        fake_set("fast functions", 1);
    uint64_t handle = test.compile(string_text(source), message, sizeof message);
    // Metal sets the error for warnings too.
    *failure = error("MTLLibraryErrorDomain", handle ? 4 : 3, message);
    if (!handle)
        return NULL;
    library_object *l = (library_object *)make(&MTLLibrary_class);
    l->handle = handle;
    return &l->object;
}
static id device_pipeline(id self, SEL name, id function, id *failure) {
    function_object *f = is(function, &MTLFunction_class, "the function");
    if (option("refuse pipelines")) {
        *failure = error("AGXMetalG13X", 3, "the test wants\nno pipeline");
        return NULL;
    }
    function_object *p = (function_object *)make(&MTLComputePipelineState_class);
    p->kernel = f->kernel;
    p->most_threads = f->most_threads;
    return &p->object;
}

static const method device_methods[] = {
    {"name", device_name},
    {"supportsFamily:", device_family},
    {"hasUnifiedMemory", device_unified},
    {"recommendedMaxWorkingSetSize", device_working_set},
    {"maxBufferLength", device_most_length},
    {"maxThreadsPerThreadgroup", device_most_threads},
    {"maxThreadgroupMemoryLength", device_threadgroup_memory},
    {"newCommandQueueWithMaxCommandBufferCount:", device_queue},
    {"newBufferWithLength:options:", device_buffer},
    {"newBufferWithBytesNoCopy:length:options:deallocator:", device_buffer_no_copy},
    {"newLibraryWithSource:options:error:", device_library},
    {"newComputePipelineStateWithFunction:error:", device_pipeline},
    {0},
};
CLASS(MTLDevice, &NSObject_class, struct object, device_methods, NULL, NULL)

EXPORT id MTLCreateSystemDefaultDevice(void) { return option("no device") ? NULL : make(&MTLDevice_class); }
