// The object model of the fake Objective-C runtime: reference counts, autorelease pools, methods found by name. Objects
// that are gone stay as zombies, so that a message to one is told from any other mistake.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct object *id;
typedef const char *SEL; // one address a name
typedef uint64_t NSUInteger;
typedef int64_t NSInteger;

typedef struct class class;

// What every object and every class begins with.
struct object {
    class *isa; // a class's own is the class "class"
    _Atomic int references;
    struct object *next; // in the table of all objects
};

typedef struct {
    SEL name;
    void *function;
} method;

struct class {
    struct object object;
    const char *name;
    class *parent;
    size_t size;             // of an instance
    const method *methods;   // ended by {0}
    const method *on_class;  // of the class itself; ended by {0}, or NULL
    void (*dealloc)(id);     // or NULL
    _Atomic int living;
};

// CLASS defines a class whose instances are of a type.
#define CLASS(NAME, PARENT, TYPE, METHODS, ON_CLASS, DEALLOC)                                                             \
    class NAME##_class = {{&class_class, 1, NULL}, #NAME, PARENT, sizeof(TYPE), METHODS, ON_CLASS, DEALLOC, 0};           \
    __attribute__((constructor)) static void NAME##_register(void) { add_class(&NAME##_class); }

extern class class_class, NSObject_class, NSString_class, NSError_class, NSArray_class, MTLBuffer_class,
    MTLCommandBuffer_class;

void add_class(class *c);

// die says what was done wrong and ends the process, as Metal would.
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

id make(class *c);     // a new object with one reference
id retain(id object);  // nil stays nil
void release(id object);
id autorelease(id object); // gives one reference to the thread's pool

// is dies where an object is not alive or not of a class.
void *is(id object, class *c, const char *what);

// What tests ask of the fake, by name.
#define EXPORT __attribute__((visibility("default")))
EXPORT void fake_set(const char *name, int64_t value);
int64_t option(const char *name);
int64_t take_option(const char *name); // and sets it to 0

// Foundation's values. Those that return objects return autoreleased ones.
id number(NSUInteger value);
NSUInteger number_value(id number);
id array(const id *elements, NSUInteger count);
NSUInteger array_count(id array);
id array_at(id array, NSUInteger i);
id dictionary_key(id dictionary); // of its one entry
id dictionary_value(id dictionary);
id string(const char *text);
const char *string_text(id string);
id error(const char *domain, NSInteger code, const char *text);
