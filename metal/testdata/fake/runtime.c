// libobjc: classes, selectors, messages, references, autorelease pools.
#include "runtime.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("fake Objective-C runtime: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    abort();
}

// Every object that was ever made, by address.
#define BUCKETS 4096
static id objects[BUCKETS];
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static unsigned bucket(const void *p) { return ((uintptr_t)p >> 4) * 2654435761u % BUCKETS; }

static void record(id o) {
    pthread_mutex_lock(&table);
    o->next = objects[bucket(o)];
    objects[bucket(o)] = o;
    pthread_mutex_unlock(&table);
}

static bool known(id o) {
    pthread_mutex_lock(&table);
    id at = objects[bucket(o)];
    while (at && at != o)
        at = at->next;
    pthread_mutex_unlock(&table);
    return at != NULL;
}

// Classes.
#define MOST_CLASSES 64
static class *classes[MOST_CLASSES];
static int class_count;

void add_class(class *c) {
    classes[class_count++] = c;
    record(&c->object);
}

EXPORT class *objc_getClass(const char *name) {
    if (option("macOS") && option("macOS") < 14 && strcmp(name, "MPSGraphFFTDescriptor") == 0)
        return NULL;
    for (int i = 0; i < class_count; i++)
        if (strcmp(classes[i]->name, name) == 0)
            return classes[i];
    return NULL;
}

// Selectors.
#define MOST_SELECTORS 512
static char *selectors[MOST_SELECTORS];

EXPORT SEL sel_registerName(const char *name) {
    pthread_mutex_lock(&table);
    int i = 0;
    while (i < MOST_SELECTORS && selectors[i] && strcmp(selectors[i], name) != 0)
        i++;
    if (i == MOST_SELECTORS)
        die("more than %d selectors", MOST_SELECTORS);
    if (!selectors[i])
        selectors[i] = strdup(name);
    pthread_mutex_unlock(&table);
    return selectors[i];
}

// Messages.
static void *find(const method *m, SEL name) {
    for (; m && m->name; m++)
        if (strcmp(m->name, name) == 0)
            return m->function;
    return NULL;
}

static void *implementation(id self, SEL name) {
    bool of_class = self->isa == &class_class;
    for (class *c = of_class ? (class *)self : self->isa; c; c = c->parent) {
        void *f = find(of_class ? c->on_class : c->methods, name);
        if (f)
            return f;
    }
    return NULL;
}

static uint64_t nothing(void) { return 0; }

// The trampolines below call fake_lookup with their own receiver and selector.
__attribute__((used)) void *fake_lookup(id self, SEL name) {
    if (!self)
        return (void *)nothing;
    if (!known(self))
        die("%s sent to %p, which is no object", name, (void *)self);
    if (self->references <= 0)
        die("%s sent to a %s that was deallocated", name, self->isa->name);
    void *f = implementation(self, name);
    if (!f)
        die("%c[%s %s]: unrecognized selector", self->isa == &class_class ? '+' : '-',
            self->isa == &class_class ? ((class *)self)->name : self->isa->name, name);
    return f;
}

// A trampoline keeps every register that an argument may be in, and jumps to the method.
#if defined(__x86_64__)
#define TRAMPOLINE(NAME, SELF, SELECTOR)                                                                                  \
    __asm__(".text\n.globl " NAME "\n.type " NAME ",@function\n" NAME ":\n"                                               \
            "push %rbp\n mov %rsp, %rbp\n sub $192, %rsp\n"                                                               \
            "mov %rdi, 0(%rsp)\n mov %rsi, 8(%rsp)\n mov %rdx, 16(%rsp)\n mov %rcx, 24(%rsp)\n"                           \
            "mov %r8, 32(%rsp)\n mov %r9, 40(%rsp)\n mov %rax, 48(%rsp)\n"                                                \
            "movups %xmm0, 64(%rsp)\n movups %xmm1, 80(%rsp)\n movups %xmm2, 96(%rsp)\n movups %xmm3, 112(%rsp)\n"        \
            "movups %xmm4, 128(%rsp)\n movups %xmm5, 144(%rsp)\n movups %xmm6, 160(%rsp)\n movups %xmm7, 176(%rsp)\n"     \
            "mov " SELF ", %rdi\n mov " SELECTOR ", %rsi\n call fake_lookup\n mov %rax, %r11\n"                           \
            "mov 0(%rsp), %rdi\n mov 8(%rsp), %rsi\n mov 16(%rsp), %rdx\n mov 24(%rsp), %rcx\n"                           \
            "mov 32(%rsp), %r8\n mov 40(%rsp), %r9\n mov 48(%rsp), %rax\n"                                                \
            "movups 64(%rsp), %xmm0\n movups 80(%rsp), %xmm1\n movups 96(%rsp), %xmm2\n movups 112(%rsp), %xmm3\n"        \
            "movups 128(%rsp), %xmm4\n movups 144(%rsp), %xmm5\n movups 160(%rsp), %xmm6\n movups 176(%rsp), %xmm7\n"     \
            "leave\n jmp *%r11\n")
TRAMPOLINE("objc_msgSend", "0(%rsp)", "8(%rsp)");
TRAMPOLINE("objc_msgSend_stret", "8(%rsp)", "16(%rsp)");
#elif defined(__aarch64__)
__asm__(".text\n.globl objc_msgSend\n.type objc_msgSend,%function\nobjc_msgSend:\n"
        "stp x29, x30, [sp, #-224]!\n mov x29, sp\n"
        "stp x0, x1, [sp, #16]\n stp x2, x3, [sp, #32]\n stp x4, x5, [sp, #48]\n stp x6, x7, [sp, #64]\n str x8, [sp, #80]\n"
        "stp q0, q1, [sp, #96]\n stp q2, q3, [sp, #128]\n stp q4, q5, [sp, #160]\n stp q6, q7, [sp, #192]\n"
        "bl fake_lookup\n mov x17, x0\n"
        "ldp x0, x1, [sp, #16]\n ldp x2, x3, [sp, #32]\n ldp x4, x5, [sp, #48]\n ldp x6, x7, [sp, #64]\n ldr x8, [sp, #80]\n"
        "ldp q0, q1, [sp, #96]\n ldp q2, q3, [sp, #128]\n ldp q4, q5, [sp, #160]\n ldp q6, q7, [sp, #192]\n"
        "ldp x29, x30, [sp], #224\n br x17\n");
#else
#error "no trampoline for this processor"
#endif

// References.
id make(class *c) {
    id o = calloc(1, c->size);
    o->isa = c;
    o->references = 1;
    c->living++;
    record(o);
    return o;
}

id retain(id o) {
    if (o && o->isa != &class_class) {
        if (o->references <= 0)
            die("retain of a %s that was deallocated", o->isa->name);
        o->references++;
    }
    return o;
}

void release(id o) {
    if (!o || o->isa == &class_class)
        return;
    int left = --o->references;
    if (left < 0)
        die("release of a %s that was deallocated", o->isa->name);
    if (left > 0)
        return;
    o->isa->living--;
    for (class *c = o->isa; c; c = c->parent)
        if (c->dealloc)
            c->dealloc(o);
}

void *is(id o, class *c, const char *what) {
    if (!o)
        die("%s is nil, not a %s", what, c->name);
    if (!known(o))
        die("%s is %p, which is no object, not a %s", what, (void *)o, c->name);
    if (o->references <= 0)
        die("%s is a %s that was deallocated", what, o->isa->name);
    for (class *at = o->isa; at; at = at->parent)
        if (at == c)
            return o;
    die("%s is a %s, not a %s", what, o->isa->name, c->name);
}

// Pools: a stack of objects for each thread, with marks in it.
#define MOST_POOLED 4096
static __thread id pooled[MOST_POOLED];
static __thread int pooled_count, marks[64], mark_count;

// A token names its thread and its mark.
EXPORT void *objc_autoreleasePoolPush(void) {
    if (mark_count == 64)
        die("more than 64 autorelease pools in one another");
    marks[mark_count] = pooled_count;
    return &marks[mark_count++];
}

EXPORT void objc_autoreleasePoolPop(void *token) {
    int *mark = token;
    if (mark < marks || mark >= marks + mark_count)
        die("an autorelease pool is popped on a thread that does not have it");
    int count = pooled_count, to = *mark;
    pooled_count = to;
    mark_count = mark - marks;
    while (count > to)
        release(pooled[--count]);
}

id autorelease(id o) {
    if (mark_count == 0)
        die("a %s is autoreleased with no pool in place", o->isa->name);
    if (pooled_count == MOST_POOLED)
        die("more than %d objects in an autorelease pool", MOST_POOLED);
    return pooled[pooled_count++] = o;
}

// NSObject.
static id object_init(id self, SEL name) { return self; }
static id object_retain(id self, SEL name) { return retain(self); }
static void object_release(id self, SEL name) { release(self); }
static bool object_responds(id self, SEL name, SEL asked) {
    if (option("macOS") && option("macOS") < 15 && strcmp(asked, "setMathMode:") == 0)
        return false;
    return implementation(self, asked) != NULL;
}
static id class_alloc(class *self, SEL name) { return make(self); }

static const method object_methods[] = {
    {"init", object_init},
    {"retain", object_retain},
    {"release", object_release},
    {"respondsToSelector:", object_responds},
    {0},
};
static const method object_on_class[] = {{"alloc", class_alloc}, {0}};

class class_class = {{&class_class, 1, NULL}, "class", NULL, sizeof(class), NULL, NULL, NULL, 0};
CLASS(NSObject, NULL, struct object, object_methods, object_on_class, NULL)

// What tests ask for, by name.
#define MOST_OPTIONS 32
static struct {
    char name[32];
    _Atomic int64_t value;
} options[MOST_OPTIONS];

EXPORT void fake_set(const char *name, int64_t value) {
    int i = 0;
    while (options[i].name[0] && strcmp(options[i].name, name) != 0)
        i++;
    if (i == MOST_OPTIONS - 1)
        die("more than %d options", MOST_OPTIONS - 1);
    strncpy(options[i].name, name, sizeof options[i].name - 1);
    options[i].value = value;
}

EXPORT int64_t fake_get(const char *name) { return option(name); }

int64_t option(const char *name) {
    for (int i = 0; options[i].name[0]; i++)
        if (strcmp(options[i].name, name) == 0)
            return options[i].value;
    return 0;
}

int64_t take_option(const char *name) {
    int64_t value = option(name);
    if (value)
        fake_set(name, 0);
    return value;
}

// fake_living returns how many objects of a class are alive. The name "" stands for every class.
EXPORT int64_t fake_living(const char *name) {
    int64_t living = 0;
    for (int i = 0; i < class_count; i++)
        if (!*name || strcmp(classes[i]->name, name) == 0)
            living += classes[i]->living;
    return living;
}
