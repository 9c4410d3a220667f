// Foundation, as far as package metal uses it.
#include "runtime.h"
#include <stdlib.h>
#include <string.h>

// NSString.
typedef struct {
    struct object object;
    char *text;
} string_object;

static void string_dealloc(id self) { free(((string_object *)self)->text); }
// utf8 returns whether text may be UTF-8, as far as its lengths go.
static bool utf8(const unsigned char *text) {
    for (; *text; text++) {
        int more = *text < 0x80 ? 0 : *text < 0xc0 ? -1 : *text < 0xe0 ? 1 : *text < 0xf0 ? 2 : *text < 0xf8 ? 3 : -1;
        if (more < 0)
            return false;
        for (; more > 0; more--)
            if ((*++text & 0xc0) != 0x80)
                return false;
    }
    return true;
}
static id string_with(class *self, SEL name, const char *text) {
    if (!utf8((const unsigned char *)text))
        return NULL;
    string_object *s = (string_object *)make(self);
    s->text = strdup(text);
    return autorelease(&s->object);
}
static const char *string_utf8(id self, SEL name) { return ((string_object *)self)->text; }

static const method string_methods[] = {{"UTF8String", string_utf8}, {0}};
static const method string_on_class[] = {{"stringWithUTF8String:", string_with}, {0}};
CLASS(NSString, &NSObject_class, string_object, string_methods, string_on_class, string_dealloc)

id string(const char *text) { return string_with(&NSString_class, NULL, text); }
const char *string_text(id s) { return ((string_object *)is(s, &NSString_class, "a string"))->text; }

// NSError.
typedef struct {
    struct object object;
    id domain, description;
    NSInteger code;
} error_object;

static void error_dealloc(id self) {
    release(((error_object *)self)->domain);
    release(((error_object *)self)->description);
}
static NSInteger error_code(id self, SEL name) { return ((error_object *)self)->code; }
static id error_domain(id self, SEL name) { return ((error_object *)self)->domain; }
static id error_description(id self, SEL name) { return autorelease(retain(((error_object *)self)->description)); }

static const method error_methods[] = {
    {"code", error_code}, {"domain", error_domain}, {"localizedDescription", error_description}, {0}};
CLASS(NSError, &NSObject_class, error_object, error_methods, NULL, error_dealloc)

id error(const char *domain, NSInteger code, const char *text) {
    error_object *e = (error_object *)make(&NSError_class);
    e->domain = retain(string(domain));
    e->description = retain(string(text));
    e->code = code;
    return autorelease(&e->object);
}

// NSNumber.
typedef struct {
    struct object object;
    NSUInteger value;
} number_object;

static id number_with(class *self, SEL name, NSUInteger value) {
    number_object *n = (number_object *)make(self);
    n->value = value;
    return autorelease(&n->object);
}

static const method number_methods[] = {{0}};
static const method number_on_class[] = {{"numberWithUnsignedInteger:", number_with}, {0}};
CLASS(NSNumber, &NSObject_class, number_object, number_methods, number_on_class, NULL)

id number(NSUInteger value) { return number_with(&NSNumber_class, NULL, value); }
NSUInteger number_value(id n) { return ((number_object *)is(n, &NSNumber_class, "a number"))->value; }

// NSArray.
typedef struct {
    struct object object;
    NSUInteger count;
    id *elements;
} array_object;

static void array_dealloc(id self) {
    array_object *a = (array_object *)self;
    for (NSUInteger i = 0; i < a->count; i++)
        release(a->elements[i]);
    free(a->elements);
}
static id array_with(class *self, SEL name, const id *elements, NSUInteger count) {
    array_object *a = (array_object *)make(self);
    a->elements = calloc(count + 1, sizeof(id));
    a->count = count;
    for (NSUInteger i = 0; i < count; i++)
        a->elements[i] = retain(is(elements[i], &NSObject_class, "an array's element"));
    return autorelease(&a->object);
}

static const method array_methods[] = {{0}};
static const method array_on_class[] = {{"arrayWithObjects:count:", array_with}, {0}};
CLASS(NSArray, &NSObject_class, array_object, array_methods, array_on_class, array_dealloc)

id array(const id *elements, NSUInteger count) { return array_with(&NSArray_class, NULL, elements, count); }
NSUInteger array_count(id a) { return ((array_object *)is(a, &NSArray_class, "an array"))->count; }
id array_at(id a, NSUInteger i) {
    if (i >= array_count(a))
        die("index %llu beyond an array of %llu", (unsigned long long)i, (unsigned long long)array_count(a));
    return ((array_object *)a)->elements[i];
}

// NSDictionary of one entry.
typedef struct {
    struct object object;
    id key, value;
} dictionary_object;

static void dictionary_dealloc(id self) {
    release(((dictionary_object *)self)->key);
    release(((dictionary_object *)self)->value);
}
static id dictionary_with(class *self, SEL name, id value, id key) {
    dictionary_object *d = (dictionary_object *)make(self);
    d->key = retain(is(key, &NSObject_class, "a dictionary's key"));
    d->value = retain(is(value, &NSObject_class, "a dictionary's value"));
    return autorelease(&d->object);
}

static const method dictionary_methods[] = {{0}};
static const method dictionary_on_class[] = {{"dictionaryWithObject:forKey:", dictionary_with}, {0}};
CLASS(NSDictionary, &NSObject_class, dictionary_object, dictionary_methods, dictionary_on_class, dictionary_dealloc)

id dictionary_key(id d) { return ((dictionary_object *)is(d, &NSDictionary_class, "a dictionary"))->key; }
id dictionary_value(id d) { return ((dictionary_object *)is(d, &NSDictionary_class, "a dictionary"))->value; }

// NSProcessInfo.
typedef struct {
    NSInteger major, minor, patch;
} NSOperatingSystemVersion;

static struct object *info;

static id process_info(class *self, SEL name) {
    if (!info)
        info = make(self);
    return autorelease(retain(info));
}
static NSOperatingSystemVersion process_version(id self, SEL name) {
    return (NSOperatingSystemVersion){option("macOS") ? option("macOS") : 15, 1, 0};
}

static const method process_methods[] = {{"operatingSystemVersion", process_version}, {0}};
static const method process_on_class[] = {{"processInfo", process_info}, {0}};
CLASS(NSProcessInfo, &NSObject_class, struct object, process_methods, process_on_class, NULL)
