// Runs the threads of a grid, one fiber each, one threadgroup after the other, and watches every access that they make
// to memory: kernels are compiled with the instrumentation of the compiler's thread and undefined-behaviour sanitizers,
// whose entry points are here, in place of the sanitizers' own libraries. No header of the host is included.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef __UINTPTR_TYPE__ address;

#define HIDDEN extern "C" __attribute__((visibility("hidden")))

// The binary interface with the Go side: launch.go has the same structs.

struct Argument {
    address begin;
    u64 bytes;
    address shadow;  // of memory, one Shadow for 4 bytes; 0 for a value
    u64 writable;
    u64 threadgroup;  // 1 of threadgroup memory
};

struct Fault {
    u32 kind;
    u32 line;          // in the text, 0 if only pc is known
    address pc;        // relative to the image
    u32 argument;      // index of the nearest argument, or of the threadgroup array
    u32 bytes;         // of the access
    long long offset;  // of the access in the argument; bytes of threadgroup memory that there are
    u32 write;
    u32 thread, other;  // in the threadgroup; other is of another threadgroup where elsewhere is set
    u32 elsewhere;
    u32 otherLine;
    u32 group[3];
    u64 extent;  // bytes of threadgroup memory; threads of the simdgroup
};

struct Launch {
    u32 groups[3], threads[3];
    u32 arguments, seed;
    const Argument* argument;
    address stacks;  // of all fibers
    u64 stackBytes;  // of one
    u64 threadgroup; // bytes that a threadgroup has
    u64 clock;       // advances at every threadgroup and barrier of the device
    Fault fault;
};

struct Position {
    u32 group[3], local[3], index;
};

enum FaultKind : u32 {
    NO_FAULT,
    OUT_OF_BOUNDS,
    READ_ONLY,
    STRAY,
    RACE,
    DIVERGENT_BARRIER,
    DIVERGENT_SIMD,
    PARTIAL_SIMD,
    THREADGROUP_BYTES,
    ARRAY_BOUNDS,
    SHIFT,
    DIVISION,
    MISALIGNED,
    CONVERSION,
    UNKNOWN_FLAGS,
    OTHER,
};

// Accesses are ordered by time, which passes at barriers. A word of memory remembers which thread used it last and when.
struct Shadow {
    u32 written, read;  // when, 0 for never
    u32 first;          // when it was first read in its dispatch
    u16 writer, reader; // threads; SEVERAL readers, or SEVERAL_OF a simdgroup
};
const u16 SEVERAL = 0xffff, SEVERAL_OF = 0x4000;

enum Space : u32 { DEVICE, THREADGROUP, SPACES };

struct Range {
    address begin, end;
    Shadow* shadow;
    u32 writable;
    Space space;
};

enum State : u32 { READY, AT_BARRIER, AT_SIMD, DONE };

struct Fiber {
    address stack;  // saved stack pointer
    u32 state, line, flags, simdBarrier;
    u32 exchanges;  // begun so far
};

const u32 MOST_THREADS = 1024, LANES = 32, MOST_RANGES = 64, THREADGROUP_LIMIT = 32768;

static struct {
    Launch* launch;
    void (*body)(const Launch*, const Position*);
    Fiber fiber[MOST_THREADS];
    u32 threads, current;
    u64 imageBytes;
    address scheduler;  // its saved stack pointer
    address stackBegin, stackEnd;  // the current fiber's
    Position position;
    Range range[MOST_RANGES];
    u32 ranges, values;  // arguments, then threadgroup arrays
    u32 threadgroupBytes;          // of arrays
    u64 argumentBytes;             // of threadgroup memory that is an argument
    u32 now, dispatchBegin, groupBegin;
    u32 fence[SPACES];                            // when accesses were last ordered for all
    u32 simdFence[SPACES][MOST_THREADS / LANES];  // for a simdgroup
    u32 waiting[MOST_THREADS / LANES];
    u32 random;
    alignas(16) u8 slot[MOST_THREADS / LANES][2][LANES][16];
    Shadow threadgroup[THREADGROUP_LIMIT / 4];
} g;

// emulator_switch saves the callee's registers on the stack, leaves its pointer at *save and goes on at load.
extern "C" void emulator_switch(address* save, address load) __asm__("emulator_switch");
#if defined(__x86_64__)
const u32 SAVED = 6;
__asm__(
    ".text\n.p2align 4\nemulator_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.p2align 4\nemulator_switch:\n"
    "sub sp, sp, #160\n"
    "stp x19, x20, [sp, #0]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\nstp x25, x26, [sp, #48]\n"
    "stp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
    "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
    "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
    "ldp x19, x20, [sp, #0]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\nldp x25, x26, [sp, #48]\n"
    "ldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
    "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
    "add sp, sp, #160\nret\n");
#else
#error "the emulator switches fibers on x86-64 and arm64 only"
#endif

static void leave() { emulator_switch(&g.fiber[g.current].stack, g.scheduler); }

// The image, from its header to the end of its last segment. It holds the tables of the text. Addresses of code are
// reported relative to it.
#if defined(__APPLE__)
extern "C" const u8 image[] __asm__("__mh_dylib_header");
static u64 imageBytes() {
    u64 end = 0;
    const u8* command = image + 32;
    for (u32 n = *(const u32*)(image + 16); n > 0; --n, command += ((const u32*)command)[1]) {
        const u32 SEGMENT_64 = 0x19;
        if (*(const u32*)command != SEGMENT_64) continue;
        u64 last = *(const u64*)(command + 24) + *(const u64*)(command + 32);
        if (last > end) end = last;
    }
    return end;
}
#else
extern "C" __attribute__((visibility("hidden"))) const u8 image[] __asm__("__ehdr_start");
static u64 imageBytes() {
    u64 end = 0;
    const u8* segment = image + *(const u64*)(image + 32);
    for (u32 n = *(const u16*)(image + 56); n > 0; --n, segment += *(const u16*)(image + 54)) {
        const u32 LOAD = 1;
        if (*(const u32*)segment != LOAD) continue;
        u64 last = *(const u64*)(segment + 16) + *(const u64*)(segment + 40);
        if (last > end) end = last;
    }
    return end;
}
#endif

// fault notes what went wrong. The caller then leaves, and the fibers never go on.
static Fault* fault(u32 kind, address pc, u32 line) {
    Fault* f = &g.launch->fault;
    f->kind = kind;
    f->pc = pc ? pc - (address)image : 0;
    f->line = line;
    f->thread = g.current;
    for (u32 i = 0; i < 3; ++i) f->group[i] = g.position.group[i];
    return f;
}

// ordered says whether an earlier access, by a thread of this threadgroup, comes before the current thread's access.
static bool ordered(Space space, u32 when, u32 who) {
    if (who == g.current || when < g.fence[space]) return true;
    u32 simdgroup = g.current / LANES;
    bool same = who == (SEVERAL_OF | simdgroup) || (who < MOST_THREADS && who / LANES == simdgroup);
    return same && when < g.simdFence[space][simdgroup];
}

static void race(Range* r, address a, u32 bytes, bool write, address pc, u32 other, bool elsewhere) {
    Fault* f = fault(RACE, pc, 0);
    f->argument = u32(r - g.range);
    f->offset = (long long)(a - r->begin);
    f->bytes = bytes;
    f->write = write;
    f->other = other;
    f->elsewhere = elsewhere;
    leave();
}

static void watch(Range* r, address a, u32 bytes, bool write, address pc) {
    for (address word = (a - r->begin) / 4; word < (a - r->begin + bytes) / 4; ++word) {
        Shadow* s = r->shadow + word;
        if (s->written >= g.groupBegin) {
            if (!ordered(r->space, s->written, s->writer)) return race(r, a, bytes, write, pc, s->writer, false);
        } else if (s->written >= g.dispatchBegin) {
            return race(r, a, bytes, write, pc, s->writer, true);
        }
        if (write) {
            if (s->first >= g.dispatchBegin && s->first < g.groupBegin) return race(r, a, bytes, write, pc, SEVERAL, true);
            if (s->read >= g.groupBegin && !ordered(r->space, s->read, s->reader))
                return race(r, a, bytes, write, pc, s->reader, false);
            s->written = g.now;
            s->writer = u16(g.current);
            continue;
        }
        if (s->first < g.dispatchBegin) s->first = g.now;
        if (s->read >= g.groupBegin && !ordered(r->space, s->read, s->reader)) {
            u32 simdgroup = g.current / LANES;
            bool same = s->reader == (SEVERAL_OF | simdgroup) || (s->reader < MOST_THREADS && s->reader / LANES == simdgroup);
            s->reader = same ? u16(SEVERAL_OF | simdgroup) : SEVERAL;
        } else {
            s->reader = u16(g.current);
        }
        s->read = g.now;
    }
}

static bool inside(address a, const void* begin, u64 bytes) { return a >= (address)begin && a - (address)begin < bytes; }

// access is called before every access to memory that is not a register's.
static void access(const void* p, u32 bytes, bool write, address pc) {
    address a = (address)p;
    if (a >= g.stackBegin && a + bytes <= g.stackEnd) return;
    Range* forbidden = 0;
    for (u32 i = g.ranges; i-- > 0;) {
        Range* r = &g.range[i];
        if (a < r->begin || a + bytes > r->end) continue;
        if (write && !r->writable) {  // a buffer may be bound twice
            forbidden = r;
            continue;
        }
        if (r->shadow) watch(r, a, bytes, write, pc);
        return;
    }
    if (forbidden) {
        fault(READ_ONLY, pc, 0)->argument = u32(forbidden - g.range);
        return leave();
    }
    if (!write && (inside(a, image, g.imageBytes) || inside(a, g.launch, sizeof(Launch)) ||
                   inside(a, g.launch->argument, g.launch->arguments * sizeof(Argument))))
        return;
    Fault* f = fault(STRAY, pc, 0);
    u64 nearest = 1 << 20;
    for (u32 i = 0; i < g.ranges; ++i) {
        Range* r = &g.range[i];
        u64 distance = a >= r->begin ? (a + bytes > r->end ? a + bytes - r->end : 0) : r->begin - a;
        if (distance >= nearest) continue;
        nearest = distance;
        f->kind = OUT_OF_BOUNDS;
        f->argument = i;
        f->offset = (long long)(a - r->begin);
        f->extent = r->end - r->begin;
    }
    f->bytes = bytes;
    f->write = write;
    leave();
}

// aligned is access where the type promises an address that is a multiple of the size.
static void aligned(const void* p, u32 bytes, bool write, address pc) {
    if ((address)p & (bytes - 1)) {
        fault(MISALIGNED, pc, 0);
        return leave();
    }
    access(p, bytes, write, pc);
}

#define PC ((address)__builtin_return_address(0))
#define ACCESS(N)                                                                                 \
    HIDDEN void __tsan_read##N(void* p) { aligned(p, N, false, PC); }                             \
    HIDDEN void __tsan_write##N(void* p) { aligned(p, N, true, PC); }                             \
    HIDDEN void __tsan_read_write##N(void* p) { aligned(p, N, true, PC); }                        \
    HIDDEN void __tsan_unaligned_read##N(void* p) { access(p, N, false, PC); }                    \
    HIDDEN void __tsan_unaligned_write##N(void* p) { access(p, N, true, PC); }                    \
    HIDDEN void __tsan_unaligned_read_write##N(void* p) { access(p, N, true, PC); }               \
    HIDDEN void __tsan_volatile_read##N(void* p) { access(p, N, false, PC); }                     \
    HIDDEN void __tsan_volatile_write##N(void* p) { access(p, N, true, PC); }                     \
    HIDDEN void __tsan_unaligned_volatile_read##N(void* p) { access(p, N, false, PC); }           \
    HIDDEN void __tsan_unaligned_volatile_write##N(void* p) { access(p, N, true, PC); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
HIDDEN void __tsan_read_range(void* p, u64 bytes) { access(p, u32(bytes), false, PC); }
HIDDEN void __tsan_write_range(void* p, u64 bytes) { access(p, u32(bytes), true, PC); }
HIDDEN void* __tsan_memcpy(void* to, const void* from, u64 bytes) {
    access(from, u32(bytes), false, PC);
    access(to, u32(bytes), true, PC);
    return __builtin_memcpy(to, from, bytes);
}
HIDDEN void* __tsan_memmove(void* to, const void* from, u64 bytes) {
    access(from, u32(bytes), false, PC);
    access(to, u32(bytes), true, PC);
    return __builtin_memmove(to, from, bytes);
}
HIDDEN void* __tsan_memset(void* to, int value, u64 bytes) {
    access(to, u32(bytes), true, PC);
    return __builtin_memset(to, value, bytes);
}
HIDDEN void __tsan_init() {}
HIDDEN void __tsan_func_entry(void*) {}
HIDDEN void __tsan_func_exit() {}

// Functions that the undefined-behaviour sanitizer's checks call. Their data begins with a place in the text.
struct Place {
    const char* file;
    u32 line, column;
};
static void undefined(u32 kind, const void* place) {
    fault(kind, 0, ((const Place*)place)->line);
    leave();
}
HIDDEN void __ubsan_handle_out_of_bounds(void* d, void*) { undefined(ARRAY_BOUNDS, d); }
HIDDEN void __ubsan_handle_shift_out_of_bounds(void* d, void*, void*) { undefined(SHIFT, d); }
HIDDEN void __ubsan_handle_divrem_overflow(void* d, void*, void*) { undefined(DIVISION, d); }
HIDDEN void __ubsan_handle_type_mismatch_v1(void* d, void*) { undefined(MISALIGNED, d); }
HIDDEN void __ubsan_handle_float_cast_overflow(void* d, void*) { undefined(CONVERSION, d); }
HIDDEN void __ubsan_handle_builtin_unreachable(void* d) { undefined(OTHER, d); }
HIDDEN void __ubsan_handle_missing_return(void* d) { undefined(OTHER, d); }

// emulator_threadgroup is called by each thread at each declaration of threadgroup memory. The first one of a
// threadgroup fills it with NaNs.
HIDDEN void emulator_threadgroup(void* memory, u64 bytes) {
    address begin = (address)memory;
    for (u32 i = g.values; i < g.ranges; ++i)
        if (g.range[i].begin == begin) return;
    u32 words = u32(bytes + 3) / 4, at = g.threadgroupBytes / 4;
    u64 most = g.launch->threadgroup - g.argumentBytes;
    if (most > THREADGROUP_LIMIT) most = THREADGROUP_LIMIT;
    if (g.ranges == MOST_RANGES || g.threadgroupBytes + bytes > most) {
        Fault* f = fault(THREADGROUP_BYTES, 0, 0);
        f->extent = g.threadgroupBytes + bytes;
        f->offset = (long long)most;
        return leave();
    }
    g.threadgroupBytes += words * 4;
    __builtin_memset(g.threadgroup + at, 0, words * sizeof(Shadow));
    __builtin_memset(memory, 0xff, bytes);
    g.range[g.ranges++] = Range{begin, begin + bytes, g.threadgroup + at, 1, THREADGROUP};
}

static bool knownFlags(u32 flags, u32 line) {
    if (flags <= 3) return true;
    fault(UNKNOWN_FLAGS, 0, line);
    leave();
    return false;
}

HIDDEN void emulator_barrier(u32 flags, u32 line) {
    if (!knownFlags(flags, line)) return;
    Fiber* f = &g.fiber[g.current];
    f->state = AT_BARRIER;
    f->flags = flags;
    f->line = line;
    leave();
}

static void meet(u32 flags, u32 line, bool barrier) {
    Fiber* f = &g.fiber[g.current];
    f->state = AT_SIMD;
    f->flags = flags;
    f->line = line;
    f->simdBarrier = barrier;
    f->exchanges++;
    leave();
}

HIDDEN void emulator_simd_barrier(u32 flags, u32 line) {
    if (knownFlags(flags, line)) meet(flags, line, true);
}

HIDDEN const void* emulator_exchange(u32 line, const void* value, u32 bytes) {
    Fiber* f = &g.fiber[g.current];
    // Two sets of slots: a lane may be one exchange ahead of the others, never two.
    u8(*slots)[16] = g.slot[g.current / LANES][f->exchanges % 2];
    __builtin_memcpy(slots[g.current % LANES], value, bytes);
    meet(0, line, false);
    return slots;
}

HIDDEN u32 emulator_lane(void) { return g.current % LANES; }

static void enter() {
    Position* p = &g.position;
    u32 nx = g.launch->threads[0], ny = g.launch->threads[1];
    Position own = *p;
    own.index = g.current;
    own.local[0] = g.current % nx;
    own.local[1] = g.current / nx % ny;
    own.local[2] = g.current / nx / ny;
    g.body(g.launch, &own);
    g.fiber[g.current].state = DONE;
    leave();
}

static void prepare(u32 i) {
    address top = g.launch->stacks + (i + 1) * g.launch->stackBytes;
    address* sp = (address*)top;
#if defined(__x86_64__)
    sp -= 2 + SAVED;
    sp[SAVED] = (address)enter;
    sp[SAVED + 1] = 0;  // where enter would return to
#else
    sp -= 20;
    sp[11] = (address)enter;  // x30
#endif
    g.fiber[i] = Fiber();
    g.fiber[i].stack = (address)sp;
}

static void fenceFor(u32 flags, u32* device, u32* threadgroup) {
    ++g.now;
    if (flags & 1) *device = g.now;
    if (flags & 2) *threadgroup = g.now;
}

// release lets a simdgroup go on when all of its lanes wait at the same place.
static void release(u32 simdgroup) {
    if (g.waiting[simdgroup] < LANES) return;
    Fiber* lane = &g.fiber[simdgroup * LANES];
    for (u32 i = 1; i < LANES; ++i)
        if (lane[i].line != lane[0].line) {
            Fault* f = fault(DIVERGENT_SIMD, 0, lane[0].line);
            f->thread = simdgroup * LANES;
            f->other = f->thread + i;
            f->otherLine = lane[i].line;
            return;
        }
    if (lane[0].simdBarrier)
        fenceFor(lane[0].flags, &g.simdFence[DEVICE][simdgroup], &g.simdFence[THREADGROUP][simdgroup]);
    for (u32 i = 0; i < LANES; ++i) lane[i].state = READY;
    g.waiting[simdgroup] = 0;
}

// stuck tells why no thread can go on.
static void stuck() {
    for (u32 i = 0; i < g.threads; ++i)
        if (g.fiber[i].state == AT_SIMD) {
            u32 first = i / LANES * LANES, lanes = g.threads - first < LANES ? g.threads - first : LANES, other = first;
            while (g.fiber[other].state == AT_SIMD && other < first + lanes - 1) ++other;
            Fault* f = fault(lanes < LANES ? PARTIAL_SIMD : DIVERGENT_SIMD, 0, g.fiber[i].line);
            f->extent = lanes;
            f->thread = i;
            f->other = other;
            f->otherLine = g.fiber[other].state == DONE ? 0 : g.fiber[other].line;
            return;
        }
    u32 at = 0;
    while (g.fiber[at].state != AT_BARRIER) ++at;
    for (u32 i = 0; i < g.threads; ++i) {
        Fiber* f = &g.fiber[i];
        if (f->state == AT_BARRIER && f->line == g.fiber[at].line) continue;
        Fault* fa = fault(DIVERGENT_BARRIER, 0, g.fiber[at].line);
        fa->thread = at;
        fa->other = i;
        fa->otherLine = f->state == DONE ? 0 : f->line;
        return;
    }
}

// passBarrier lets the threadgroup go on when all of its threads wait at the same barrier.
static bool passBarrier() {
    for (u32 i = 0; i < g.threads; ++i) {
        Fiber* f = &g.fiber[i];
        if (f->state != AT_BARRIER || f->line != g.fiber[0].line) return false;
    }
    fenceFor(g.fiber[0].flags, &g.fence[DEVICE], &g.fence[THREADGROUP]);
    for (u32 i = 0; i < g.threads; ++i) g.fiber[i].state = READY;
    return true;
}

static u32 next() {
    g.random = g.random * 1664525 + 1013904223;
    return g.random >> 8;
}

// turn returns the i-th thread to run: forwards, backwards, or neither, so that no kernel relies on an order.
static u32 turn(u32 i, u32 order, u32 start) {
    switch (order % 3) {
        case 0: return i;
        case 1: return g.threads - 1 - i;
    }
    return (i + start) % g.threads;
}

static void runGroup() {
    g.groupBegin = ++g.now;
    g.fence[DEVICE] = g.fence[THREADGROUP] = g.now;
    for (u32 s = 0; s < MOST_THREADS / LANES; ++s) {
        g.simdFence[DEVICE][s] = g.simdFence[THREADGROUP][s] = g.now;
        g.waiting[s] = 0;
    }
    g.ranges = g.values;
    g.threadgroupBytes = 0;
    for (u32 i = 0; i < g.values; ++i) {
        Range* r = &g.range[i];
        if (r->space != THREADGROUP) continue;
        __builtin_memset((void*)r->begin, 0xff, r->end - r->begin);
        __builtin_memset(r->shadow, 0, (r->end - r->begin + 3) / 4 * sizeof(Shadow));
    }
    for (u32 i = 0; i < g.threads; ++i) prepare(i);
    for (;;) {
        u32 order = next(), start = next() % g.threads, done = 0;
        bool progress = false;
        for (u32 k = 0; k < g.threads; ++k) {
            u32 i = turn(k, order, start);
            Fiber* f = &g.fiber[i];
            if (f->state == READY) {
                progress = true;
                g.current = i;
                g.stackBegin = g.launch->stacks + i * g.launch->stackBytes;
                g.stackEnd = g.stackBegin + g.launch->stackBytes;
                emulator_switch(&g.scheduler, f->stack);
                if (g.launch->fault.kind) return;
                if (f->state == AT_SIMD) {
                    ++g.waiting[i / LANES];
                    release(i / LANES);
                    if (g.launch->fault.kind) return;
                }
            }
            done += f->state == DONE;
        }
        if (done == g.threads) return;
        if (!progress && !passBarrier()) return stuck();
    }
}

HIDDEN void emulator_run(Launch* l, void (*body)(const Launch*, const Position*)) {
    g.launch = l;
    if (!g.imageBytes) g.imageBytes = imageBytes();
    g.body = body;
    g.threads = l->threads[0] * l->threads[1] * l->threads[2];
    g.random = l->seed;
    g.now = u32(l->clock);
    g.dispatchBegin = ++g.now;
    g.values = l->arguments;
    g.argumentBytes = 0;
    for (u32 i = 0; i < l->arguments; ++i) {
        const Argument* a = &l->argument[i];
        g.range[i] = Range{a->begin, a->begin + a->bytes, (Shadow*)a->shadow, u32(a->writable), a->threadgroup ? THREADGROUP : DEVICE};
        if (a->threadgroup) g.argumentBytes += a->bytes;
    }
    u64 total = (u64)l->groups[0] * l->groups[1] * l->groups[2];
    bool backwards = next() % 2;
    for (u64 k = 0; k < total && !l->fault.kind; ++k) {
        u64 i = backwards ? total - 1 - k : k;
        g.position.group[0] = u32(i % l->groups[0]);
        g.position.group[1] = u32(i / l->groups[0] % l->groups[1]);
        g.position.group[2] = u32(i / l->groups[0] / l->groups[1]);
        runGroup();
    }
    l->clock = g.now;
}
