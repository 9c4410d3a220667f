//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"bytes"
	"fmt"
	"unsafe"

	"crossover/gpu"
	"crossover/metal/objc"
)

// Record turns commands into messages. Kernels that follow each other share an encoder. Its dispatches run in order,
// and each one sees what the ones before it wrote. Copies that follow each other share an encoder too.
func (d *driver) Record(commands []gpu.Command) (gpu.Recording, error) {
	r := &recording{
		queue: d.queue,
		send: messages{
			// Buffers and pipelines outlive the recording. So the command buffer need not retain them, which is
			// cheaper.
			commandBuffer:      unretainedCommandBuffer.Bare(),
			retain:             objc.RetainMessage(),
			release:            objc.ReleaseMessage(),
			endEncoding:        endEncoding.Bare(),
			commit:             commit.Bare(),
			waitUntilCompleted: waitUntilCompleted.Bare(),
			status:             status.Bare(),
		},
		buffers: make([]objc.ID, 0, len(commands)+1),
		single:  len(commands) == 1 && commands[0].Kind != gpu.Copy,
	}
	e := passEncoder{recording: r, bound: map[int]bound{}}
	for i := range commands {
		if err := e.command(&commands[i]); err != nil {
			return nil, err
		}
	}
	e.finish()
	return r, nil
}

// passEncoder collects the messages of a pass. It knows what the pass's encoder holds already, because what is set
// stays set from dispatch to dispatch.
type passEncoder struct {
	*recording

	kind     gpu.CommandKind
	messages []objc.Message
	pipeline *pipeline
	bound    map[int]bound
}

// bound is what an index holds: a buffer from an offset on, or a value.
type bound struct {
	buffer objc.ID
	offset int
	value  string
}

func (e *passEncoder) command(c *gpu.Command) error {
	if c.Kind != e.kind {
		e.finish()
		e.kind = c.Kind
	}
	switch c.Kind {
	case gpu.Dispatch:
		return e.dispatch(c)
	case gpu.Copy:
		return e.copy(c)
	case gpu.Encode:
		// A library may make buffers of its own and release them once it has encoded. So this command buffer retains
		// them.
		e.send.commandBuffer = commandBuffer.Bare()
		e.passes = append(e.passes, pass{library: c.External})
		return nil
	}
	return fmt.Errorf("metal: command of kind %d", c.Kind)
}

// finish ends the pass under way.
func (e *passEncoder) finish() {
	if len(e.messages) > 0 {
		open := computeCommandEncoder.Bare()
		if e.kind == gpu.Copy {
			open = blitCommandEncoder.Bare()
		}
		e.passes = append(e.passes, pass{open: open, encode: e.messages})
	}
	e.messages, e.pipeline, e.bound = nil, nil, map[int]bound{}
}

func (e *passEncoder) dispatch(c *gpu.Command) error {
	p, ok := c.Pipeline.(*pipeline)
	if !ok {
		return errForeign
	}
	if p != e.pipeline {
		setPipeline.To(&e.messages)(0, p.object)
		e.pipeline = p
		e.keep = append(e.keep, p)
	}
	shared := 0
	for i, a := range c.Arguments {
		if a.Threadgroup > 0 {
			shared = a.Threadgroup
			setThreadgroupMemory.To(&e.messages)(0, uint(shared), 0)
			continue
		}
		if err := e.bind(i, a); err != nil {
			return err
		}
	}
	dispatchThreadgroups.To(&e.messages)(0, sizeOf(c.Groups), sizeOf(c.Threads))
	if shared > 0 {
		e.finish() // what is set stays set, and the next kernel may need the memory for its arrays
	}
	return nil
}

func sizeOf(s gpu.Size) mtlSize { return mtlSize{uint(s.X), uint(s.Y), uint(s.Z)} }

// bind sets an argument at its index, unless the index holds it already. Package gpu/msl sees to it that values have at
// most the 4096 bytes that setBytes takes.
func (e *passEncoder) bind(index int, a gpu.Binding) error {
	next := bound{value: string(a.Value)}
	if a.Memory != nil {
		m, ok := a.Memory.(*memory)
		if !ok {
			return errForeign
		}
		next = bound{buffer: m.buffer, offset: a.Offset}
	}
	before, any := e.bound[index]
	e.bound[index] = next
	switch {
	case any && before == next:
	case any && next.buffer != 0 && before.buffer == next.buffer:
		setBufferOffset.To(&e.messages)(0, uint(next.offset), uint(index))
	case next.buffer != 0:
		setBuffer.To(&e.messages)(0, next.buffer, uint(next.offset), uint(index))
	default:
		value := bytes.Clone(a.Value)
		e.keep = append(e.keep, value)
		setBytes.To(&e.messages)(0, unsafe.Pointer(unsafe.SliceData(value)), uint(len(value)), uint(index))
	}
	return nil
}

func (e *passEncoder) copy(c *gpu.Command) error {
	source, ok := c.Source.Memory.(*memory)
	target, okTarget := c.Target.Memory.(*memory)
	if !ok || !okTarget {
		return errForeign
	}
	copyBuffer.To(&e.messages)(0, source.buffer, uint(c.Source.Offset), target.buffer, uint(c.Target.Offset), uint(c.Bytes))
	return nil
}
