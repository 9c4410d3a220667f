// What mps.c sees of metal.c.
#pragma once
#include "runtime.h"

typedef struct {
    struct object object;
    uint8_t *contents;
    NSUInteger length;
    bool owned; // whether contents go with the object
} buffer_object;

// A command that Metal Performance Shaders append: run is called when the command buffer executes, drop when it goes.
typedef struct {
    void (*run)(void *state);
    void (*drop)(void *state);
    void *state;
    id uses[4]; // buffers
} library_command;

// append_library dies where the buffer takes no commands.
void append_library(id command_buffer, library_command command);
// continue_buffer commits the buffer and returns a new one of the same queue, which the caller owns.
id continue_buffer(id command_buffer);
