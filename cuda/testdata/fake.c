// A stand-in for libcuda, NVRTC, cuFFT and cuBLAS in one library, so that the package is tested without a GPU.
//
// It is strict where the real libraries are lenient or silent: it ends the process when a context is not current on the
// calling thread, when a handle was destroyed or never made, when a launch is beyond the kernel's limits, and when
// something is freed twice. Work is queued and runs at cuStreamSynchronize, so that a wait that is left out shows; device
// memory cannot be touched by the host. Kernels are not compiled: "machine code" lists the entry points that the text
// declares, and the kernels below, known by name, run in their place. Nothing here says anything about the real
// libraries' speed or about CUDA as a language.
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void die(const char* function, const char* why) {
    fprintf(stderr, "fake: %s: %s\n", function, why);
    abort();
}

// Control: what the tests ask for and look at.

static struct { char name[64]; long calls; long fail_at; int status; } table[128];
static int rows;

static int row_of(const char* name) {
    for (int i = 0; i < rows; i++)
        if (!strcmp(table[i].name, name)) return i;
    if (rows == 128) die(name, "the table of calls is full");
    strncpy(table[rows].name, name, 63);
    return rows++;
}

static int lost;  // the sticky error, once there is one

static int sticky(int status) { return status == 214 || (status >= 700 && status <= 719 && status != 701); }

// entered counts a call, and returns the status that it is to fail with, or 0.
static int entered(const char* name) {
    pthread_mutex_lock(&lock);
    int i = row_of(name);
    table[i].calls++;
    int status = table[i].fail_at && table[i].calls >= table[i].fail_at ? table[i].status : 0;
    if (status) table[i].fail_at = 0;
    if (sticky(status)) lost = status;
    pthread_mutex_unlock(&lock);
    return status;
}

// fake_fail makes the n-th call from now on fail, once.
void fake_fail(const char* name, long n, int status) {
    pthread_mutex_lock(&lock);
    int i = row_of(name);
    table[i].fail_at = table[i].calls + n;
    table[i].status = status;
    pthread_mutex_unlock(&lock);
}

long fake_calls(const char* name) {
    pthread_mutex_lock(&lock);
    long calls = table[row_of(name)].calls;
    pthread_mutex_unlock(&lock);
    return calls;
}

#define CALL(name)                        \
    do {                                  \
        int status = entered(#name);      \
        if (status) return status;        \
    } while (0)
#define DRIVER(name)                      \
    do {                                  \
        int status = entered(#name);      \
        if (status) return status;        \
        if (lost) return lost;            \
    } while (0)

// Objects. They are never freed, so that a use after the end is seen.

enum kind { STREAM = 1, EVENT, GRAPH, EXECUTABLE, MODULE, FUNCTION, PROGRAM, TRANSFORM, HANDLE, KINDS };
static long live[KINDS];

struct object { uint32_t magic; enum kind kind; int alive; };
#define MAGIC 0x0b1ec7edu

static void* make(enum kind kind, size_t bytes) {
    struct object* o = calloc(1, bytes);
    o->magic = MAGIC;
    o->kind = kind;
    o->alive = 1;
    __atomic_add_fetch(&live[kind], 1, __ATOMIC_SEQ_CST);
    return o;
}

static void* check(const char* function, void* p, enum kind kind) {
    struct object* o = p;
    if (!o) die(function, "a null handle");
    if (o->magic != MAGIC || o->kind != kind) die(function, "a handle of another kind");
    if (!o->alive) die(function, "a handle that was destroyed");
    return p;
}

static void end(void* p) {
    struct object* o = p;
    o->alive = 0;
    __atomic_sub_fetch(&live[o->kind], 1, __ATOMIC_SEQ_CST);
}

long fake_live(int kind) { return live[kind]; }

// Context.

static int context_object;
static int retained;
static __thread void* current;

static void need_context(const char* function) {
    if (current != &context_object) die(function, "no context is current on this thread");
}

int cuInit(unsigned flags) { CALL(cuInit); return flags ? 1 : 0; }
int cuDriverGetVersion(int* v) { CALL(cuDriverGetVersion); *v = 13000; return 0; }
static int devices = 1;
void fake_devices(int n) { devices = n; }
int cuDeviceGetCount(int* n) { CALL(cuDeviceGetCount); *n = devices; return 0; }
int cuDeviceGet(int* d, int i) { CALL(cuDeviceGet); *d = 7; return i ? 101 : 0; }
static void need_device(const char* function, int d) { if (d != 7) die(function, "another device"); }
int cuDeviceGetName(char* s, int n, int d) {
    CALL(cuDeviceGetName);
    need_device("cuDeviceGetName", d);
    snprintf(s, n, "Fake H1");
    return 0;
}
int cuDeviceGetAttribute(int* v, int a, int d) {
    CALL(cuDeviceGetAttribute);
    need_device("cuDeviceGetAttribute", d);
    switch (a) {
    case 1: *v = 1024; return 0;
    case 8: *v = 49152; return 0;
    case 10: *v = 32; return 0;
    case 12: *v = 65536; return 0;
    case 16: *v = 132; return 0;
    case 75: *v = 9; return 0;
    case 76: *v = 0; return 0;
    case 97: *v = 232448; return 0;
    }
    return 1;
}
static const size_t memory_bytes = 1u << 28;
int cuDeviceTotalMem_v2(size_t* n, int d) {
    CALL(cuDeviceTotalMem_v2);
    need_device("cuDeviceTotalMem_v2", d);
    *n = memory_bytes;
    return 0;
}
int cuDevicePrimaryCtxSetFlags_v2(int d, unsigned flags) {
    CALL(cuDevicePrimaryCtxSetFlags_v2);
    need_device("cuDevicePrimaryCtxSetFlags_v2", d);
    return flags > 7 ? 1 : 0;
}
int cuDevicePrimaryCtxRetain(void** c, int d) {
    CALL(cuDevicePrimaryCtxRetain);
    need_device("cuDevicePrimaryCtxRetain", d);
    if (lost && !retained) return lost;  // as on an H100: a process that lost its context gets no other one
    retained++;
    *c = &context_object;
    return 0;
}
static void free_all(void);
int cuDevicePrimaryCtxRelease_v2(int d) {
    CALL(cuDevicePrimaryCtxRelease_v2);
    need_device("cuDevicePrimaryCtxRelease_v2", d);
    if (!retained) die("cuDevicePrimaryCtxRelease_v2", "the context is not retained");
    if (!--retained) free_all();
    return 0;
}
int fake_retained(void) { return retained; }
int cuCtxSetCurrent(void* c) {
    DRIVER(cuCtxSetCurrent);
    if (c && (c != &context_object || !retained)) die("cuCtxSetCurrent", "no context of ours");
    current = c;
    return 0;
}
static const struct { int status; const char *name, *text; } errors[] = {
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {35, "CUDA_ERROR_INSUFFICIENT_DRIVER", "CUDA driver version is insufficient"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch\n failure"},
};
static int error_index(int status) {
    for (int i = 0; i < (int)(sizeof errors / sizeof *errors); i++)
        if (errors[i].status == status) return i;
    return -1;
}
int cuGetErrorName(int status, const char** s) {
    int i = error_index(status);
    *s = i < 0 ? 0 : errors[i].name;
    return i < 0;
}
int cuGetErrorString(int status, const char** s) {
    int i = error_index(status);
    *s = i < 0 ? 0 : errors[i].text;
    return i < 0;
}

// Memory.

static struct block { char* base; size_t bytes; int host; } blocks[4096];
static int block_count;
static size_t device_bytes;

static int map_block(void** p, size_t bytes, int host) {
    pthread_mutex_lock(&lock);
    int status = 0;
    if (bytes == 0) {
        status = 1;
    } else if (!host && device_bytes + bytes > memory_bytes) {
        status = 2;
    } else {
        if (block_count == 4096) die("memory", "too many blocks");
        char* base = mmap(0, bytes, host ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) die("memory", "mmap failed");
        blocks[block_count++] = (struct block){base, bytes, host};
        if (!host) device_bytes += bytes;
        *p = base;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static int unmap_block(const char* function, void* p, int host) {
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < block_count && blocks[i].base != p) i++;
    if (i == block_count) die(function, "memory that is not allocated");
    if (blocks[i].host != host) die(function, "memory of the other kind");
    munmap(blocks[i].base, blocks[i].bytes);
    if (!host) device_bytes -= blocks[i].bytes;
    blocks[i] = blocks[--block_count];
    pthread_mutex_unlock(&lock);
    return 0;
}

long fake_blocks(int host) {
    long n = 0;
    for (int i = 0; i < block_count; i++) n += blocks[i].host == host;
    return n;
}

// free_all frees what is left when the context ends. Whoever touches it afterwards dies.
static void free_all(void) {
    while (block_count) unmap_block("cuDevicePrimaryCtxRelease_v2", blocks[0].base, blocks[0].host);
}

// within returns how many bytes follow an address in its block, or 0.
static size_t within(const void* p) {
    for (int i = 0; i < block_count; i++)
        if ((const char*)p >= blocks[i].base && (const char*)p < blocks[i].base + blocks[i].bytes)
            return blocks[i].base + blocks[i].bytes - (const char*)p;
    return 0;
}

static void protect(int how) {
    for (int i = 0; i < block_count; i++)
        if (!blocks[i].host) mprotect(blocks[i].base, blocks[i].bytes, how);
}

int cuMemAlloc_v2(void** p, size_t bytes) {
    DRIVER(cuMemAlloc_v2);
    need_context("cuMemAlloc_v2");
    return map_block(p, bytes, 0);
}
int cuMemFree_v2(void* p) {
    DRIVER(cuMemFree_v2);
    need_context("cuMemFree_v2");
    return unmap_block("cuMemFree_v2", p, 0);
}
int cuMemHostAlloc(void** p, size_t bytes, unsigned flags) {
    DRIVER(cuMemHostAlloc);
    need_context("cuMemHostAlloc");
    return flags > 7 ? 1 : map_block(p, bytes, 1);
}
int cuMemFreeHost(void* p) {
    DRIVER(cuMemFreeHost);
    need_context("cuMemFreeHost");
    return unmap_block("cuMemFreeHost", p, 1);
}

// NVRTC: entry points out of the text, errors where a line holds "nosuch".

struct parameter { int bytes, pointer, constant, restricted; };
struct entry { char name[64]; int count, bound; struct parameter parameters[16]; };
struct code { char magic[8]; char architecture[16]; int count; struct entry entries[16]; };

struct program { struct object o; char *text, *name, *log; struct code code; };

int nvrtcVersion(int* major, int* minor) { CALL(nvrtcVersion); *major = 13; *minor = 0; return 0; }
const char* nvrtcGetErrorString(int status) { return status == 6 ? "NVRTC_ERROR_COMPILATION" : status == 5 ? "NVRTC_ERROR_INVALID_OPTION" : "NVRTC_ERROR_INTERNAL_ERROR"; }
int nvrtcCreateProgram(void** p, const char* text, const char* name, int headers, const char** contents, const char** names) {
    CALL(nvrtcCreateProgram);
    if (headers != 1 || strcmp(names[0], "metal_stdlib") || !strstr(contents[0], "namespace metal")) die("nvrtcCreateProgram", "the prelude is not there");
    struct program* program = make(PROGRAM, sizeof *program);
    program->text = strdup(text);
    program->name = strdup(name);
    *p = program;
    return 0;
}
int nvrtcDestroyProgram(void** p) {
    CALL(nvrtcDestroyProgram);
    struct program* program = check("nvrtcDestroyProgram", *p, PROGRAM);
    end(program);
    *p = 0;
    return 0;
}

static int struct_bytes(const char* text, const char* type) {
    char head[80];
    snprintf(head, sizeof head, "struct %s {", type);
    const char* s = strstr(text, head);
    int bytes = 0;
    if (s)
        for (s += strlen(head); *s && *s != '}'; s++) {
            if (*s == ';' || *s == ',') bytes += 4;
            if (*s == '[') bytes += 4 * (atoi(s + 1) - 1);
        }
    return bytes;
}

static void parse_parameter(const char* text, const char* s, int n, struct parameter* p) {
    char declaration[256] = {0};
    memcpy(declaration, s, n < 255 ? n : 255);
    p->pointer = strchr(declaration, '*') != 0;
    p->restricted = strstr(declaration, "__restrict__") != 0;
    p->constant = strstr(declaration, "const ") != 0;
    char* type = declaration;
    while (*type == ' ') type++;
    if (!strncmp(type, "const ", 6)) type += 6;
    type = strtok(type, " *");
    p->bytes = p->pointer ? 8
        : !strcmp(type, "float") || !strcmp(type, "uint") || !strcmp(type, "int") ? 4
        : !strcmp(type, "float2") || !strcmp(type, "uint2") ? 8
        : !strcmp(type, "float4") || !strcmp(type, "uint4") ? 16
        : struct_bytes(text, type);
    if (!p->bytes) die("nvrtcCompileProgram", "a parameter of unknown size");
}

static void parse_entries(const char* text, struct code* code) {
    const char* mark = "extern \"C\" __global__ ";
    for (const char* s = text; (s = strstr(s, mark));) {
        struct entry* e = &code->entries[code->count++];
        s += strlen(mark);
        if (!strncmp(s, "__launch_bounds__(", 18)) e->bound = atoi(s + 18);
        s = strstr(s, "void ") + 5;
        const char* open = strchr(s, '(');
        memcpy(e->name, s, open - s);
        const char* close = strchr(open, ')');
        for (s = open + 1; s < close;) {
            const char* comma = memchr(s, ',', close - s);
            if (!comma) comma = close;
            parse_parameter(text, s, comma - s, &e->parameters[e->count++]);
            s = comma + 1;
        }
    }
}

int nvrtcCompileProgram(void* p, int count, const char** options) {
    CALL(nvrtcCompileProgram);
    struct program* program = check("nvrtcCompileProgram", p, PROGRAM);
    int device_default = 0;
    for (int i = 0; i < count; i++) {
        if (!strncmp(options[i], "--gpu-architecture=", 19)) strncpy(program->code.architecture, options[i] + 19, 15);
        if (!strcmp(options[i], "--device-as-default-execution-space")) device_default = 1;
        if (strstr(options[i], "fast_math")) die("nvrtcCompileProgram", "fast math");
    }
    if (!device_default || !program->code.architecture[0]) return 5;
    char file[128] = "", *text = strdup(program->text), *rest = text;
    strncpy(file, program->name, 127);
    int line = 0;
    for (char* s; (s = strsep(&rest, "\n"));) {
        line++;
        if (sscanf(s, "#line %d \"%127[^\"]\"", &line, file) == 2) {
            line--;
            continue;
        }
        if (strstr(s, "nosuch")) {
            char log[400];
            snprintf(log, sizeof log, "%s(%d): warning #177-D: a warning\n\n%s(%d): error: identifier \"nosuch\" is undefined\n      %s\n      ^\n\n1 error detected in the compilation of \"%s\".\n",
                     file, line > 1 ? line - 1 : 1, file, line, s, program->name);
            program->log = strdup(log);
            free(text);
            return 6;
        }
    }
    free(text);
    memcpy(program->code.magic, "FAKECODE", 8);
    parse_entries(program->text, &program->code);
    return 0;
}
int nvrtcGetCUBINSize(void* p, size_t* n) {
    CALL(nvrtcGetCUBINSize);
    check("nvrtcGetCUBINSize", p, PROGRAM);
    *n = sizeof(struct code);
    return 0;
}
int nvrtcGetCUBIN(void* p, char* to) {
    CALL(nvrtcGetCUBIN);
    struct program* program = check("nvrtcGetCUBIN", p, PROGRAM);
    memcpy(to, &program->code, sizeof program->code);
    return 0;
}
int nvrtcGetProgramLogSize(void* p, size_t* n) {
    CALL(nvrtcGetProgramLogSize);
    struct program* program = check("nvrtcGetProgramLogSize", p, PROGRAM);
    *n = program->log ? strlen(program->log) + 1 : 1;
    return 0;
}
int nvrtcGetProgramLog(void* p, char* to) {
    CALL(nvrtcGetProgramLog);
    struct program* program = check("nvrtcGetProgramLog", p, PROGRAM);
    strcpy(to, program->log ? program->log : "");
    return 0;
}

// Modules.

struct module { struct object o; struct code code; };
struct function { struct object o; struct module* module; struct entry* entry; int most_shared; };
static const int own_shared = 1024;  // bytes of shared memory that every kernel declares

int cuModuleLoadData(void** m, const void* image) {
    DRIVER(cuModuleLoadData);
    need_context("cuModuleLoadData");
    const struct code* code = image;
    if (memcmp(code->magic, "FAKECODE", 8)) return 200;
    if (strcmp(code->architecture, "sm_90")) return 209;
    struct module* module = make(MODULE, sizeof *module);
    module->code = *code;
    *m = module;
    return 0;
}
int cuModuleUnload(void* m) {
    DRIVER(cuModuleUnload);
    need_context("cuModuleUnload");
    end(check("cuModuleUnload", m, MODULE));
    return 0;
}
int cuModuleGetFunction(void** f, void* m, const char* name) {
    DRIVER(cuModuleGetFunction);
    need_context("cuModuleGetFunction");
    struct module* module = check("cuModuleGetFunction", m, MODULE);
    for (int i = 0; i < module->code.count; i++)
        if (!strcmp(module->code.entries[i].name, name)) {
            struct function* function = make(FUNCTION, sizeof *function);
            function->module = module;
            function->entry = &module->code.entries[i];
            function->most_shared = 49152 - own_shared;
            *f = function;
            return 0;
        }
    return 500;
}
static int most_threads(struct function* f) { return f->entry->bound ? f->entry->bound : 1024; }
int cuFuncGetAttribute(int* v, int a, void* f) {
    DRIVER(cuFuncGetAttribute);
    need_context("cuFuncGetAttribute");
    struct function* function = check("cuFuncGetAttribute", f, FUNCTION);
    *v = a ? own_shared : most_threads(function);
    return a > 1 ? 1 : 0;
}
int cuFuncSetAttribute(void* f, int a, int v) {
    DRIVER(cuFuncSetAttribute);
    need_context("cuFuncSetAttribute");
    struct function* function = check("cuFuncSetAttribute", f, FUNCTION);
    if (a != 8 || v < 0 || v > 232448 - own_shared) return 1;
    function->most_shared = v;
    return 0;
}

// Work: nodes that are queued, or captured into graphs.

struct handle;
struct transform;
enum work { KERNEL, COPY, SET, RECORD, FOURIER, PRODUCT };
struct node {
    enum work work;
    struct function* function;
    unsigned threads, shared;
    char values[16][64];
    void *to, *from;
    size_t bytes;
    int value;
    struct event* event;
    struct transform* transform;
    int direction;
    int transposed[2], m, n, k;
    float alpha, beta;
    const float *a, *b;
};
struct graph { struct object o; int count; struct node nodes[128]; };
struct stream { struct object o; struct graph* captured; int invalid; struct graph queue; };
struct event { struct object o; int recorded; double microseconds; };
struct executable { struct object o; struct graph work; struct stream* in_flight; };

static double device_clock = 1000;

static struct stream* stream_of(const char* function, void* s) { return check(function, s, STREAM); }

static int enqueue(const char* function, void* s, const struct node* n) {
    struct stream* stream = stream_of(function, s);
    struct graph* to = stream->captured ? stream->captured : &stream->queue;
    if (to->count == 128) die(function, "too many nodes");
    to->nodes[to->count++] = *n;
    return 0;
}

int cuStreamCreate(void** s, unsigned flags) {
    DRIVER(cuStreamCreate);
    need_context("cuStreamCreate");
    if (flags != 1) die("cuStreamCreate", "a stream that waits for the default one");
    *s = make(STREAM, sizeof(struct stream));
    return 0;
}
int cuStreamDestroy_v2(void* s) {
    DRIVER(cuStreamDestroy_v2);
    need_context("cuStreamDestroy_v2");
    struct stream* stream = stream_of("cuStreamDestroy_v2", s);
    if (stream->queue.count) die("cuStreamDestroy_v2", "work that was not waited for");
    end(stream);
    return 0;
}

static size_t pixels(const struct node* n, int i) { return within(*(void* const*)n->values[i]); }
#define ARGUMENT(type, i) (*(type*)n->values[i])

// run_kernel runs one of the kernels that the tests' texts declare; one thread computes one element. It returns a
// CUresult.
static int run_kernel(struct node* n) {
    struct entry* e = n->function->entry;
    if (!strcmp(e->name, "crossover_nothing")) return 0;
    for (int i = 0; i < e->count; i++)
        if (e->parameters[i].pointer && !pixels(n, i)) return 700;
    if (e->parameters[0].restricted)
        for (int i = 0; i < e->count; i++)
            for (int j = 0; j < e->count; j++)
                if (i != j && e->parameters[i].pointer && e->parameters[j].pointer && !e->parameters[i].constant && ARGUMENT(char*, i) == ARGUMENT(char*, j))
                    die("cuLaunchKernel", "restricted pointers to the same memory");
    if (!strcmp(e->name, "crossover_scale")) {
        float *y = ARGUMENT(float*, 0), *x = ARGUMENT(float*, 1), a = ARGUMENT(float, 3), b = ARGUMENT(float, 4);
        unsigned n4 = ARGUMENT(unsigned, 2);
        if (16ull * n4 > pixels(n, 0) || 16ull * n4 > pixels(n, 1)) return 700;
        for (unsigned i = 0; i < 4 * (n4 < n->threads ? n4 : n->threads); i++) y[i] = x[i] * a + b;
        return 0;
    }
    if (!strcmp(e->name, "crossover_accumulate")) {
        float *y = ARGUMENT(float*, 0), *x = ARGUMENT(float*, 1);
        struct { unsigned n; float by[2]; } p = ARGUMENT(__typeof__(p), 2);
        if (4ull * p.n > pixels(n, 0)) return 700;
        for (unsigned i = 0; i < (p.n < n->threads ? p.n : n->threads); i++) y[i] = y[i] + p.by[0] * x[i] + p.by[1];
        return 0;
    }
    if (!strcmp(e->name, "crossover_share")) {  // writes how many bytes of shared memory it has
        *ARGUMENT(float*, 0) = n->shared;
        return 0;
    }
    if (!strcmp(e->name, "crossover_crash")) return 700;
    die("cuLaunchKernel", "a kernel that this library does not know");
    return 0;
}

static void run_transform(struct node* n);
static void run_product(struct node* n);

static int run(struct graph* g) {
    protect(PROT_READ | PROT_WRITE);
    int status = 0;
    for (int i = 0; i < g->count && !status; i++) {
        struct node* n = &g->nodes[i];
        // Behind an event, the start of the next work is not hidden.
        if (i > 0 && g->nodes[i - 1].work == RECORD && n->work != RECORD) device_clock += 2;
        // Between two kernels with an event each, the device pauses.
        if (i > 1 && g->nodes[i - 1].work == RECORD && g->nodes[i - 2].work == KERNEL && n->work == RECORD) device_clock += 3;
        switch (n->work) {
        case KERNEL:
            if (!n->function->o.alive || !n->function->module->o.alive) die("cuLaunchKernel", "a module that was unloaded");
            status = run_kernel(n);
            device_clock += 10;
            break;
        case COPY:
            if (within(n->to) < n->bytes || within(n->from) < n->bytes) status = 700;
            else memmove(n->to, n->from, n->bytes);
            device_clock += 5;
            break;
        case SET:
            if (within(n->to) < n->bytes) status = 700;
            else memset(n->to, n->value, n->bytes);
            break;
        case RECORD:
            check("cuEventRecord", n->event, EVENT);
            n->event->recorded = 1;
            n->event->microseconds = device_clock;
            device_clock += 1;
            break;
        case FOURIER: run_transform(n); device_clock += 10; break;
        case PRODUCT: run_product(n); device_clock += 10; break;
        }
    }
    protect(PROT_NONE);
    return status;
}

int cuStreamSynchronize(void* s) {
    DRIVER(cuStreamSynchronize);
    need_context("cuStreamSynchronize");
    struct stream* stream = stream_of("cuStreamSynchronize", s);
    if (stream->captured) die("cuStreamSynchronize", "a stream that is captured");
    pthread_mutex_lock(&lock);
    int status = run(&stream->queue);
    stream->queue.count = 0;
    if (status) lost = status;
    pthread_mutex_unlock(&lock);
    return status;
}

int cuMemcpyAsync(void* to, void* from, size_t bytes, void* s) {
    DRIVER(cuMemcpyAsync);
    need_context("cuMemcpyAsync");
    struct node n = {.work = COPY, .to = to, .from = from, .bytes = bytes};
    return enqueue("cuMemcpyAsync", s, &n);
}
int cuMemsetD8Async(void* to, unsigned char value, size_t bytes, void* s) {
    DRIVER(cuMemsetD8Async);
    need_context("cuMemsetD8Async");
    struct node n = {.work = SET, .to = to, .value = value, .bytes = bytes};
    return enqueue("cuMemsetD8Async", s, &n);
}
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* s, void** parameters, void** extra) {
    DRIVER(cuLaunchKernel);
    need_context("cuLaunchKernel");
    struct function* function = check("cuLaunchKernel", f, FUNCTION);
    check("cuLaunchKernel", function->module, MODULE);
    if (!gx || !gy || !gz || !bx || !by || !bz || gy > 65535 || gz > 65535) die("cuLaunchKernel", "a grid that no device takes");
    if (bx * by * bz > (unsigned)most_threads(function)) die("cuLaunchKernel", "more threads than the kernel takes");
    if (extra) die("cuLaunchKernel", "arguments that nobody passes");
    if (shared > (unsigned)function->most_shared) die("cuLaunchKernel", "more shared memory than the function is allowed");
    struct node n = {.work = KERNEL, .function = function, .threads = gx * gy * gz * bx * by * bz, .shared = shared};
    for (int i = 0; i < function->entry->count; i++) {
        if (!parameters || !parameters[i]) die("cuLaunchKernel", "too few arguments");
        memcpy(n.values[i], parameters[i], function->entry->parameters[i].bytes);
    }
    return enqueue("cuLaunchKernel", s, &n);
}

// Graphs.

int cuStreamBeginCapture_v2(void* s, int mode) {
    DRIVER(cuStreamBeginCapture_v2);
    need_context("cuStreamBeginCapture_v2");
    struct stream* stream = stream_of("cuStreamBeginCapture_v2", s);
    if (stream->captured) die("cuStreamBeginCapture_v2", "a stream that is captured already");
    if (mode != 2) die("cuStreamBeginCapture_v2", "a mode in which other threads must not allocate");
    stream->captured = make(GRAPH, sizeof(struct graph));
    return 0;
}
int cuStreamEndCapture(void* s, void** g) {
    DRIVER(cuStreamEndCapture);
    need_context("cuStreamEndCapture");
    struct stream* stream = stream_of("cuStreamEndCapture", s);
    if (!stream->captured) die("cuStreamEndCapture", "a stream that is not captured");
    *g = stream->captured;
    stream->captured = 0;
    return 0;
}
int cuGraphInstantiateWithFlags(void** x, void* g, unsigned long long flags) {
    DRIVER(cuGraphInstantiateWithFlags);
    need_context("cuGraphInstantiateWithFlags");
    struct graph* graph = check("cuGraphInstantiateWithFlags", g, GRAPH);
    struct executable* executable = make(EXECUTABLE, sizeof *executable);
    executable->work = *graph;
    *x = executable;
    return flags ? 1 : 0;
}
int cuGraphDestroy(void* g) {
    DRIVER(cuGraphDestroy);
    end(check("cuGraphDestroy", g, GRAPH));
    return 0;
}
int cuGraphUpload(void* x, void* s) {
    DRIVER(cuGraphUpload);
    need_context("cuGraphUpload");
    check("cuGraphUpload", x, EXECUTABLE);
    stream_of("cuGraphUpload", s);
    return 0;
}
int cuGraphLaunch(void* x, void* s) {
    DRIVER(cuGraphLaunch);
    need_context("cuGraphLaunch");
    struct executable* executable = check("cuGraphLaunch", x, EXECUTABLE);
    struct stream* stream = stream_of("cuGraphLaunch", s);
    if (stream->queue.count) die("cuGraphLaunch", "a recording that is in flight");
    for (int i = 0; i < executable->work.count; i++) enqueue("cuGraphLaunch", stream, &executable->work.nodes[i]);
    return 0;
}
int cuGraphExecDestroy(void* x) {
    DRIVER(cuGraphExecDestroy);
    end(check("cuGraphExecDestroy", x, EXECUTABLE));
    return 0;
}

// Events.

int cuEventCreate(void** e, unsigned flags) {
    DRIVER(cuEventCreate);
    need_context("cuEventCreate");
    *e = make(EVENT, sizeof(struct event));
    return flags ? 1 : 0;
}
int cuEventRecordWithFlags(void* e, void* s, unsigned flags) {
    DRIVER(cuEventRecordWithFlags);
    need_context("cuEventRecordWithFlags");
    struct stream* stream = stream_of("cuEventRecordWithFlags", s);
    if (stream->captured && flags != 1) die("cuEventRecordWithFlags", "an event that orders the capture only");
    struct node n = {.work = RECORD, .event = check("cuEventRecordWithFlags", e, EVENT)};
    return enqueue("cuEventRecordWithFlags", s, &n);
}
int cuEventElapsedTime(float* ms, void* a, void* b) {
    DRIVER(cuEventElapsedTime);
    need_context("cuEventElapsedTime");
    struct event *from = check("cuEventElapsedTime", a, EVENT), *to = check("cuEventElapsedTime", b, EVENT);
    if (!from->recorded || !to->recorded) return 600;
    *ms = (to->microseconds - from->microseconds) / 1000;
    return 0;
}
int cuEventDestroy_v2(void* e) {
    DRIVER(cuEventDestroy_v2);
    end(check("cuEventDestroy_v2", e, EVENT));
    return 0;
}

// cuFFT.

struct transform { struct object o; int n, batch, kind; void* stream; };
enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c };
static struct transform* transforms[256];
static int transform_count;

static struct transform* transform_of(const char* function, int handle) {
    if (handle < 1 || handle > transform_count) die(function, "no plan of ours");
    return check(function, transforms[handle - 1], TRANSFORM);
}
int cufftGetProperty(int what, int* v) { CALL(cufftGetProperty); *v = what == 0 ? 12 : 0; return 0; }
int cufftPlanMany(int* handle, int rank, int* n, int* in, int in_stride, int in_distance, int* out, int out_stride, int out_distance, int kind, int batch) {
    CALL(cufftPlanMany);
    need_context("cufftPlanMany");
    if (rank != 1 || in || out || batch < 1 || *n < 1 || (kind != R2C && kind != C2R && kind != C2C)) return 4;
    (void)in_stride, (void)in_distance, (void)out_stride, (void)out_distance;
    // The real library fails so if several threads plan at once.
    static int planning;
    if (__atomic_exchange_n(&planning, 1, __ATOMIC_SEQ_CST)) return 5;
    usleep(1000);
    struct transform* t = make(TRANSFORM, sizeof *t);
    t->n = *n;
    t->batch = batch;
    t->kind = kind;
    transforms[transform_count++] = t;
    *handle = transform_count;
    __atomic_store_n(&planning, 0, __ATOMIC_SEQ_CST);
    return 0;
}
int cufftDestroy(int handle) {
    CALL(cufftDestroy);
    need_context("cufftDestroy");
    end(transform_of("cufftDestroy", handle));
    return 0;
}
int cufftSetStream(int handle, void* s) {
    CALL(cufftSetStream);
    stream_of("cufftSetStream", s);
    transform_of("cufftSetStream", handle)->stream = s;
    return 0;
}
static int transform_node(const char* function, int handle, void* from, void* to, int kind, int direction) {
    need_context(function);
    struct transform* t = transform_of(function, handle);
    if (t->kind != kind) die(function, "a plan of another kind");
    if (!t->stream) die(function, "the default stream");
    if (direction != -1 && direction != 1) die(function, "no direction");
    struct node n = {.work = FOURIER, .transform = t, .from = from, .to = to, .direction = direction};
    return enqueue(function, t->stream, &n);
}
int cufftExecR2C(int handle, void* from, void* to) {
    CALL(cufftExecR2C);
    return transform_node("cufftExecR2C", handle, from, to, R2C, -1);
}
int cufftExecC2R(int handle, void* from, void* to) {
    CALL(cufftExecC2R);
    return transform_node("cufftExecC2R", handle, from, to, C2R, 1);
}
int cufftExecC2C(int handle, void* from, void* to, int direction) {
    CALL(cufftExecC2C);
    return transform_node("cufftExecC2C", handle, from, to, C2C, direction);
}
static void run_transform(struct node* node) {
    struct transform* t = check("cufftExec", node->transform, TRANSFORM);
    int n = t->n, bins = n / 2 + 1;
    unsigned long long words_in = t->kind == R2C ? n : t->kind == C2R ? 2 * bins : 2 * n, words_out = t->kind == C2R ? n : t->kind == R2C ? 2 * bins : 2 * n;
    if (within(node->from) < 4 * words_in * t->batch || within(node->to) < 4 * words_out * t->batch) die("cufftExec", "a buffer that is too small");
    float* in = malloc(4 * words_in * t->batch);
    memcpy(in, node->from, 4 * words_in * t->batch);
    // As cuFFT does, a transform to real values overwrites its input.
    if (t->kind == C2R) memset(node->from, 0xff, 4 * words_in * t->batch);
    for (int row = 0; row < t->batch; row++)
        for (int k = 0; k < (t->kind == R2C ? bins : n); k++) {
            double re = 0, im = 0;
            const float* x = in + words_in * row;
            for (int j = 0; j < n; j++) {
                int mirrored = t->kind == C2R && j >= bins, at = mirrored ? n - j : j;
                double u = t->kind == R2C ? x[j] : x[2 * at], v = t->kind == R2C ? 0 : mirrored ? -x[2 * at + 1] : x[2 * at + 1];
                double angle = node->direction * 2 * M_PI * ((long)j * k % n) / n, c = cos(angle), s = sin(angle);
                re += u * c - v * s;
                im += u * s + v * c;
            }
            float* y = (float*)node->to + words_out * row;
            if (t->kind == C2R) y[k] = re;
            else y[2 * k] = re, y[2 * k + 1] = im;
        }
    free(in);
}

// cuBLAS.

struct handle { struct object o; void *stream, *workspace; int mode; };

int cublasGetProperty(int what, int* v) { CALL(cublasGetProperty); *v = what == 0 ? 13 : what == 1 ? 1 : 0; return 0; }
int cublasCreate_v2(void** h) {
    CALL(cublasCreate_v2);
    need_context("cublasCreate_v2");
    struct handle* handle = make(HANDLE, sizeof *handle);
    handle->mode = -1;
    *h = handle;
    return 0;
}
int cublasDestroy_v2(void* h) {
    CALL(cublasDestroy_v2);
    end(check("cublasDestroy_v2", h, HANDLE));
    return 0;
}
int cublasSetStream_v2(void* h, void* s) {
    CALL(cublasSetStream_v2);
    struct handle* handle = check("cublasSetStream_v2", h, HANDLE);
    handle->stream = stream_of("cublasSetStream_v2", s);
    handle->workspace = 0;
    return 0;
}
int cublasSetWorkspace_v2(void* h, void* p, size_t bytes) {
    CALL(cublasSetWorkspace_v2);
    if (within(p) < bytes) die("cublasSetWorkspace_v2", "a workspace that is not there");
    ((struct handle*)check("cublasSetWorkspace_v2", h, HANDLE))->workspace = p;
    return 0;
}
int cublasSetMathMode(void* h, int mode) {
    CALL(cublasSetMathMode);
    ((struct handle*)check("cublasSetMathMode", h, HANDLE))->mode = mode;
    return 0;
}
static int multiply(const char* function, void* h, int ta, int tb, int m, int n, int k, const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta, float* c, int ldc) {
    need_context(function);
    struct handle* handle = check(function, h, HANDLE);
    if (handle->mode != 0 && handle->mode != 2) die(function, "a mode that is not FP32");
    if (!handle->workspace) die(function, "a workspace that cuBLAS may free");
    if (lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m) return 7;
    struct node node = {.work = PRODUCT, .transposed = {ta, tb}, .m = m, .n = n, .k = k, .alpha = *alpha, .beta = *beta, .a = a, .b = b, .to = c};
    node.bytes = lda;
    node.value = ldb;
    node.threads = ldc;
    return enqueue(function, handle->stream, &node);
}
int cublasSgemm_v2(void* h, int ta, int tb, int m, int n, int k, const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta, float* c, int ldc) {
    CALL(cublasSgemm_v2);
    return multiply("cublasSgemm_v2", h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
int cublasSgemmStridedBatched(void* h, int ta, int tb, int m, int n, int k, const float* alpha, const float* a, int lda, long long apart_a, const float* b, int ldb, long long apart_b, const float* beta, float* c, int ldc, long long apart_c, int count) {
    CALL(cublasSgemmStridedBatched);
    for (int i = 0; i < count; i++) {
        int status = multiply("cublasSgemmStridedBatched", h, ta, tb, m, n, k, alpha, a + i * apart_a, lda, b + i * apart_b, ldb, beta, c + i * apart_c, ldc);
        if (status) return status;
    }
    return 0;
}
// The matrix is m×n, and its transpose n×m.
int cublasSgemv_v2(void* h, int t, int m, int n, const float* alpha, const float* a, int lda, const float* x, int step_x, const float* beta, float* y, int step_y) {
    CALL(cublasSgemv_v2);
    if (step_x != 1 || step_y != 1) die("cublasSgemv_v2", "a step that the stand-in lacks");
    int rows = t ? n : m, columns = t ? m : n;
    return multiply("cublasSgemv_v2", h, t, 0, rows, 1, columns, alpha, a, lda, x, columns, beta, y, rows);
}
static void run_product(struct node* o) {
    int lda = o->bytes, ldb = o->value, ldc = o->threads;
    float* c = o->to;
    if (within(c) < 4ull * o->m * o->n || within(o->a) < 4ull * o->m * o->k || within(o->b) < 4ull * o->n * o->k) die("cublasSgemm_v2", "a buffer that is too small");
    for (int j = 0; j < o->n; j++)
        for (int i = 0; i < o->m; i++) {
            double sum = 0;
            for (int l = 0; l < o->k; l++)
                sum += (double)(o->transposed[0] ? o->a[l + i * lda] : o->a[i + l * lda]) * (o->transposed[1] ? o->b[j + l * ldb] : o->b[l + j * ldb]);
            c[i + j * ldc] = o->alpha * sum + (o->beta ? o->beta * c[i + j * ldc] : 0);
        }
}
