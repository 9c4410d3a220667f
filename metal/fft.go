//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"errors"
	"fmt"

	"crossover/gpu"
	"crossover/metal/objc"
)

func (d *driver) FFTMissing() error {
	switch {
	case d.missingMPS != nil:
		return d.missingMPS
	case objc.Class("MPSGraphFFTDescriptor") == 0:
		return errors.New("metal: MPSGraph has no Fourier transform here (it came with macOS 14)")
	}
	return nil
}

func (d *driver) FFTVersion() string { return "MPSGraph, " + d.version }

// transform is a compiled graph of one operation, with its input and its output.
type transform struct {
	objects    objects
	executable objc.ID
	wrapper    objc.ID // the class MPSCommandBuffer

	wrap, unwrap, encode objc.Message

	// Of a transform in place. MPSGraph does not promise to compute in place. So it writes to back, which is then
	// copied.
	back                      gpu.Memory
	openBlit, copied, endBlit objc.Message
}

// operation is an operation of a graph with a transform: from rows of one type and length to rows of another.
type operation struct {
	method   *objc.Method[func(_, tensor, axes, descriptor, name objc.ID) objc.ID]
	from, to rowsOf
	inverse  bool
	odd      bool // an odd number of real values comes out
}

// rowsOf is the type of a tensor of rows.
type rowsOf struct {
	columns  int
	dataType uint32
}

// size returns the number of bytes of an element.
func (r rowsOf) size() int {
	if r.dataType == complex64Type {
		return bytesOfComplex
	}
	return bytesOfFloat
}

// NewFFT readies realToHermiteanFFT, HermiteanToRealFFT or fastFourierTransform.
func (d *driver) NewFFT(dst, src gpu.Region, t gpu.Transform) (gpu.External, error) {
	reals, bins := rowsOf{t.N, float32Type}, rowsOf{t.N/2 + 1, complex64Type}
	o := operation{method: realFFT, from: reals, to: bins}
	switch {
	case t.Complex:
		rows := rowsOf{t.N, complex64Type}
		o = operation{method: complexFFT, inverse: t.Inverse, from: rows, to: rows}
	case t.Inverse:
		o = operation{method: inverseRealFFT, inverse: true, odd: t.N%2 != 0, from: bins, to: reals}
	}
	return d.newTransform(dst, src, t.Batch, o)
}

// mostTensorBytes is the greatest size of a tensor. Metal Performance Shaders end the process for a greater one.
const mostTensorBytes = 1<<32 - 1

func (d *driver) newTransform(dst, src gpu.Region, batch int, o operation) (_ gpu.External, err error) {
	if err := d.FFTMissing(); err != nil {
		return nil, err
	}
	input, err := tensorMemory(src, o.from.columns, batch, o.from.size())
	if err != nil {
		return nil, err
	}
	output, err := tensorMemory(dst, o.to.columns, batch, o.to.size())
	if err != nil {
		return nil, err
	}
	t := &transform{wrapper: objc.Class("MPSCommandBuffer"), wrap: wrapPrototype(), unwrap: wrappedCommandBuffer.Bare()}
	target := output
	if input == output {
		if t.back, err = d.Allocate(output.bytes, gpu.Private); err != nil {
			return nil, err
		}
		target = t.back.(*memory)
		t.copyBack(output)
	}
	objc.InPool(func() { err = t.compile(d.device, input, target, batch, o) })
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// tensorMemory checks a region of rows×columns elements. Too short a buffer would end the process.
func tensorMemory(region gpu.Region, columns, rows, size int) (*memory, error) {
	m, ok := region.Memory.(*memory)
	switch bytes := columns * rows * size; {
	case !ok:
		return nil, errForeign
	case region.Offset != 0:
		return nil, fmt.Errorf("metal: a tensor from byte %d of a buffer on; MPSGraph takes buffers from their beginning", region.Offset)
	case columns < 1 || rows < 1 || bytes > m.bytes:
		return nil, fmt.Errorf("metal: a tensor of %d×%d in a buffer of %d bytes", rows, columns, m.bytes)
	case bytes > mostTensorBytes:
		return nil, fmt.Errorf("metal: a tensor of %d×%d; MPSGraph takes at most %d bytes", rows, columns, mostTensorBytes)
	}
	return m, nil
}

// compile makes the graph, compiles it, and readies the call that encodes it.
func (t *transform) compile(device objc.ID, input, output *memory, batch int, o operation) error {
	graph := objc.New(objc.Class("MPSGraph"))
	defer objc.Release(graph)
	inputShape, outputShape := nsNumbers(batch, o.from.columns), nsNumbers(batch, o.to.columns)
	// Unscaled is the descriptor's default, and is set all the same.
	descriptor := fftDescriptor.Call(objc.Class("MPSGraphFFTDescriptor"))
	setInverse.Call(descriptor, o.inverse)
	setOddHermitean.Call(descriptor, o.odd)
	setScalingMode.Call(descriptor, scalingNone)
	feed := placeholder.Call(graph, inputShape, o.from.dataType, 0)
	result := o.method.Call(graph, feed, nsNumbers(1), descriptor, 0)
	if feed == 0 || result == 0 {
		return fmt.Errorf("metal: MPSGraph has no transform of %d rows of %d", batch, o.from.columns)
	}
	feedType := initShapedType.Call(objc.Alloc(objc.Class("MPSGraphShapedType")), inputShape, o.from.dataType)
	defer objc.Release(feedType)
	feeds := dictionaryWithObject.Call(objc.Class("NSDictionary"), feedType, feed)
	t.executable = compileGraph.Call(graph, graphDevice.Call(objc.Class("MPSGraphDevice"), device), feeds, nsArray(result), 0, 0)
	if t.executable == 0 {
		return fmt.Errorf("metal: MPSGraph does not compile a transform of %d rows of %d", batch, o.from.columns)
	}
	t.objects.own(objc.Retain(t.executable))
	inputs, err := t.tensors(input, inputShape, o.from.dataType)
	if err != nil {
		return err
	}
	results, err := t.tensors(output, outputShape, o.to.dataType)
	if err != nil {
		return err
	}
	var encode []objc.Message
	encodeExecutable.To(&encode)(0, 0, inputs, results, 0)
	t.encode = encode[0]
	return nil
}

// scalingNone is MPSGraphFFTScalingModeNone.
//
// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphfftscalingmode
const scalingNone = 0

// tensors returns an array with the tensor that lies in a buffer.
func (t *transform) tensors(m *memory, shape objc.ID, dataType uint32) (objc.ID, error) {
	data := t.objects.own(initTensorData.Call(objc.Alloc(objc.Class("MPSGraphTensorData")), m.buffer, shape, dataType))
	if data == 0 {
		return 0, fmt.Errorf("metal: no tensor in a buffer of %d bytes", m.bytes)
	}
	return t.objects.own(objc.Retain(nsArray(data))), nil
}

// wrapPrototype returns the message that wraps a command buffer, its argument to be set.
func wrapPrototype() objc.Message {
	var wrap []objc.Message
	wrapCommandBuffer.To(&wrap)(0, 0)
	return wrap[0]
}

// copyBack readies the copy from back to a buffer.
func (t *transform) copyBack(to *memory) {
	var copied []objc.Message
	copyBuffer.To(&copied)(0, t.back.(*memory).buffer, 0, to.buffer, 0, uint(to.bytes))
	t.openBlit, t.copied, t.endBlit = blitCommandEncoder.Bare(), copied[0], endEncoding.Bare()
}

var errCommitted = errors.New("metal: MPSGraph has committed the command buffer and gone on with another one")

// Encode appends the transform to an MTLCommandBuffer that has no encoder open.
func (t *transform) Encode(target uintptr) error {
	next, err := t.encodeOn(objc.ID(target))
	if err == nil && uintptr(next) != target {
		err = errCommitted
	}
	return err
}

// encodeOn is Encode, but also returns the command buffer to go on with. MPSGraph may commit the command buffer that it
// is given, and go on with another one.
//
// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphexecutable/encode(to:inputs:results:executiondescriptor:)
func (t *transform) encodeOn(buffer objc.ID) (objc.ID, error) {
	t.wrap.Set(0, uintptr(buffer))
	wrapped := t.wrap.Send(t.wrapper)
	t.encode.Set(0, wrapped)
	t.encode.Send(t.executable)
	next := objc.ID(t.unwrap.Send(objc.ID(wrapped)))
	if t.back != nil {
		encoder := objc.ID(t.openBlit.Send(next))
		if encoder == 0 {
			return next, errNoEncoder
		}
		t.copied.Send(encoder)
		t.endBlit.Send(encoder)
	}
	return next, nil
}

func (t *transform) Close() {
	t.objects.release()
	if t.back != nil {
		t.back.Free()
		t.back = nil
	}
}

// nsArray returns an autoreleased array.
func nsArray(elements ...objc.ID) objc.ID {
	return arrayWithObjects.Call(objc.Class("NSArray"), &elements[0], uint(len(elements)))
}

// nsNumbers returns an autoreleased array of numbers.
func nsNumbers(values ...int) objc.ID {
	var numbers []objc.ID
	for _, v := range values {
		numbers = append(numbers, numberWithUint.Call(objc.Class("NSNumber"), uint(v)))
	}
	return nsArray(numbers...)
}
