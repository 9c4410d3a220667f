//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"errors"
	"time"

	"crossover/gpu"
	"crossover/metal/objc"
)

// recording is a list of commands, as the messages that encode them. Everything that a submission needs is made
// together with the recording, so that a submission allocates nothing.
type recording struct {
	passes []pass
	keep   []any // what the messages point to
	single bool  // whether it is one kernel or one library call

	queue objc.ID
	send  messages
	pool  objc.Pool

	// Of the submission under way. MPSGraph may have committed a command buffer and gone on with another one.
	buffers []objc.ID
	timed   bool
	begin   time.Time
	encoded time.Duration // from begin to Submit's return
}

// messages are the messages without arguments.
type messages struct {
	commandBuffer, retain, release, endEncoding, commit, waitUntilCompleted, status objc.Message
}

// pass is what goes through one encoder, or the work of a library, which makes encoders of its own.
type pass struct {
	open    objc.Message // to the command buffer: makes the encoder
	encode  []objc.Message
	library gpu.External
}

// continuing is a library that may commit the command buffer and go on with another one. It returns the command buffer
// to go on with. The caller owns neither.
type continuing interface {
	encodeOn(buffer objc.ID) (objc.ID, error)
}

// Submit makes a command buffer, encodes into it and commits it.
func (r *recording) Submit(timed bool) error {
	if len(r.buffers) > 0 {
		return errInFlight
	}
	r.begin, r.timed = time.Now(), timed
	r.pool.Push()
	err := r.encodeAll()
	if err != nil {
		r.drop()
	}
	r.pool.Pop()
	r.encoded = time.Since(r.begin)
	return err
}

func (r *recording) encodeAll() error {
	buffer := objc.ID(r.send.commandBuffer.Send(r.queue))
	if buffer == 0 {
		return errNoCommandBuffer
	}
	r.hold(buffer)
	for i := range r.passes {
		p := &r.passes[i]
		if p.library != nil {
			next, err := encodeLibrary(p.library, buffer)
			if err != nil {
				return err
			}
			if next != buffer {
				buffer = next
				r.hold(buffer)
			}
			continue
		}
		encoder := objc.ID(p.open.Send(buffer))
		if encoder == 0 {
			return errNoEncoder
		}
		for j := range p.encode {
			p.encode[j].Send(encoder)
		}
		r.send.endEncoding.Send(encoder)
	}
	r.send.commit.Send(buffer)
	return nil
}

// hold keeps a command buffer beyond the pool.
func (r *recording) hold(buffer objc.ID) {
	r.send.retain.Send(buffer)
	r.buffers = append(r.buffers, buffer)
}

// drop releases the command buffers.
func (r *recording) drop() {
	for _, buffer := range r.buffers {
		r.send.release.Send(buffer)
	}
	r.buffers = r.buffers[:0]
}

func encodeLibrary(library gpu.External, buffer objc.ID) (objc.ID, error) {
	if c, ok := library.(continuing); ok {
		return c.encodeOn(buffer)
	}
	return buffer, library.Encode(uintptr(buffer))
}

// Wait waits for the command buffers and looks at how they ended.
func (r *recording) Wait() (gpu.Times, error) {
	if len(r.buffers) == 0 {
		return gpu.Times{}, errNotInFlight
	}
	r.pool.Push()
	defer r.pool.Pop()
	defer r.drop()
	for _, buffer := range r.buffers {
		r.send.waitUntilCompleted.Send(buffer)
	}
	wall := time.Since(r.begin)
	for _, buffer := range r.buffers {
		if r.send.status.Send(buffer) != completed {
			return gpu.Times{}, fault(buffer)
		}
	}
	if !r.timed {
		return gpu.Times{}, nil
	}
	times := gpu.Times{Encode: r.encoded, Wall: wall}
	// The times are in seconds of the host's clock. If the GPU reports none, as in a virtual machine, Span stays 0.
	start, end := gpuStartTime.Call(r.buffers[0]), gpuEndTime.Call(r.buffers[len(r.buffers)-1])
	if start > 0 && end > start {
		times.Span = time.Duration((end - start) * float64(time.Second))
	}
	if r.single && times.Span > 0 {
		times.Busy, times.Kernel = times.Span, 1
	}
	return times, nil
}

// Close drops what the recording refers to.
func (r *recording) Close() { r.passes, r.keep = nil, nil }

var errForeign = errors.New("metal: a command with what another driver made")
