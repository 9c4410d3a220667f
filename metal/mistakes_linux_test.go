//go:build amd64 || arm64

package metal_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"crossover/metal/objc"
)

// The fake has to end the process where Metal would, and say why. A fake that forgives would let the driver's mistakes
// pass. Each mistake is made in a process of its own.

const mistakeVariable = "CROSSOVER_TEST_MISTAKE"

type size struct{ Width, Height, Depth uint }

// world is what a mistake needs: a device, a queue, and a buffer of 64 KiB.
type world struct {
	device, queue, buffer objc.ID
}

// These methods are declared where a mistake is made. So they do not count among the driver's methods.
type (
	get = func(objc.ID) objc.ID
	act = func(objc.ID)
)

func declareGet(class, selector string) get { return objc.Declare[get](class, selector).Call }
func declareAct(class, selector string) act { return objc.Declare[act](class, selector).Call }

// open returns a command buffer with a compute encoder.
func (w *world) open() (buffer, encoder objc.ID) {
	buffer = declareGet("MTLCommandQueue", "commandBuffer")(w.queue)
	return buffer, declareGet("MTLCommandBuffer", "computeCommandEncoder")(buffer)
}

func end(encoder objc.ID)    { declareAct("MTLCommandEncoder", "endEncoding")(encoder) }
func commit(buffer objc.ID)  { declareAct("MTLCommandBuffer", "commit")(buffer) }
func waitFor(buffer objc.ID) { declareAct("MTLCommandBuffer", "waitUntilCompleted")(buffer) }

func setBuffer(encoder, buffer objc.ID, offset, index uint) {
	objc.Declare[func(_, _ objc.ID, _, _ uint)]("MTLComputeCommandEncoder", "setBuffer:offset:atIndex:").Call(encoder, buffer, offset, index)
}

func setThreadgroupMemory(encoder objc.ID, length, index uint) {
	objc.Declare[func(_ objc.ID, _, _ uint)]("MTLComputeCommandEncoder", "setThreadgroupMemoryLength:atIndex:").Call(encoder, length, index)
}

func setBytes(encoder objc.ID, length, index uint) {
	bytes := make([]byte, length)
	objc.Declare[func(objc.ID, unsafe.Pointer, uint, uint)]("MTLComputeCommandEncoder", "setBytes:length:atIndex:").
		Call(encoder, unsafe.Pointer(unsafe.SliceData(bytes)), length, index)
}

func dispatch(encoder objc.ID, groups, threads size) {
	// The fake ignores the name of a struct.
	objc.Declare[func(objc.ID, size, size)]("MTLComputeCommandEncoder", "dispatchThreadgroups:threadsPerThreadgroup:").Call(encoder, groups, threads)
}

func newString(s string) objc.ID {
	return objc.Declare[func(objc.ID, string) objc.ID]("NSString", "stringWithUTF8String:").Call(objc.Class("NSString"), s)
}

// compile returns the library of a text.
func (w *world) compile(text string) objc.ID {
	var failure objc.ID
	return objc.Declare[func(objc.ID, objc.ID, objc.ID, *objc.ID) objc.ID]("MTLDevice", "newLibraryWithSource:options:error:").
		Call(w.device, newString(text), objc.New(objc.Class("MTLCompileOptions")), &failure)
}

// withPipeline sets a pipeline, of a kernel that takes 256 threads.
func (w *world) withPipeline(encoder objc.ID) {
	function := objc.Declare[func(objc.ID, objc.ID) objc.ID]("MTLLibrary", "newFunctionWithName:").Call
	pipeline := objc.Declare[func(objc.ID, objc.ID, *objc.ID) objc.ID]("MTLDevice", "newComputePipelineStateWithFunction:error:").Call
	set := objc.Declare[func(_, _ objc.ID)]("MTLComputeCommandEncoder", "setComputePipelineState:").Call
	var failure objc.ID
	compiled := w.compile("[[max_total_threads_per_threadgroup(256)]] kernel void k(device float* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = 1.0f; }\n")
	set(encoder, pipeline(w.device, function(compiled, newString("k")), &failure))
}

func (w *world) newBuffer(options uint) objc.ID {
	return objc.Declare[func(objc.ID, uint, uint) objc.ID]("MTLDevice", "newBufferWithLength:options:").Call(w.device, 65536, options)
}

// mistakes are the mistakes to make, each inside a pool, and what the fake must say.
var mistakes = map[string]struct {
	do   func(w *world)
	want string
}{
	"misspelled selector": {func(w *world) {
		declareGet("MTLCommandQueue", "comandBuffer")(w.queue)
	}, "-[MTLCommandQueue comandBuffer]: unrecognized selector"},
	"misspelled class method": {func(w *world) {
		objc.Declare[func(objc.ID, string) objc.ID]("NSString", "stringWithUTF8string:").Call(objc.Class("NSString"), "x")
	}, "+[NSString stringWithUTF8string:]: unrecognized selector"},
	"another class's method": {func(w *world) {
		declareGet("MTLCommandBuffer", "computeCommandEncoder")(w.queue)
	}, "-[MTLCommandQueue computeCommandEncoder]: unrecognized selector"},
	"message to no object": {func(w *world) {
		declareGet("NSObject", "retain")(w.queue + 8)
	}, "retain sent to 0x"},
	"no pool": {func(w *world) {
		done := make(chan struct{})
		get := declareGet("MTLCommandQueue", "commandBuffer")
		go func() {
			defer close(done)
			runtime.LockOSThread()
			get(w.queue)
		}()
		<-done
	}, "a MTLCommandBuffer is autoreleased with no pool in place"},
	"pool of another thread": {func(w *world) {
		var p objc.Pool
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.Push() // keeps the goroutine's thread
		}()
		<-done
		runtime.LockOSThread()
		p.Pop()
	}, "an autorelease pool is popped on a thread that does not have it"},
	"over-release": {func(w *world) {
		objc.Release(w.buffer)
		objc.Release(w.buffer)
	}, "release sent to a MTLBuffer that was deallocated"},
	"release of what the pool owns": {func(w *world) {
		objc.Release(declareGet("MTLCommandQueue", "commandBuffer")(w.queue))
	}, "release of a MTLCommandBuffer that was deallocated"},
	"use after release": {func(w *world) {
		_, encoder := w.open()
		objc.Release(w.buffer)
		setBuffer(encoder, w.buffer, 0, 0)
	}, "the buffer is a MTLBuffer that was deallocated"},
	"release before the GPU is done": {func(w *world) {
		buffer := declareGet("MTLCommandQueue", "commandBufferWithUnretainedReferences")(w.queue)
		encoder := declareGet("MTLCommandBuffer", "computeCommandEncoder")(buffer)
		w.withPipeline(encoder)
		setBuffer(encoder, w.buffer, 0, 0)
		dispatch(encoder, size{1, 1, 1}, size{1, 1, 1})
		end(encoder)
		commit(buffer)
		objc.Release(w.buffer)
		waitFor(buffer)
	}, "a command buffer runs with a MTLBuffer that was deallocated"},
	"encoder open at commit": {func(w *world) {
		buffer, _ := w.open()
		commit(buffer)
	}, "commit on a command buffer while an encoder is open"},
	"encoder left open": {func(w *world) {
		w.open()
	}, "a MTLComputeCommandEncoder is deallocated before endEncoding"},
	"two encoders": {func(w *world) {
		buffer, _ := w.open()
		declareGet("MTLCommandBuffer", "blitCommandEncoder")(buffer)
	}, "blitCommandEncoder on a command buffer while an encoder is open"},
	"library beside an encoder": {func(w *world) {
		buffer, _ := w.open()
		w.product(buffer)
	}, "a library encodes on a command buffer while an encoder is open"},
	"encoding after the end": {func(w *world) {
		_, encoder := w.open()
		end(encoder)
		setBuffer(encoder, w.buffer, 0, 0)
	}, "setBuffer:offset:atIndex: after endEncoding"},
	"end twice": {func(w *world) {
		_, encoder := w.open()
		end(encoder)
		end(encoder)
	}, "endEncoding after endEncoding"},
	"commit twice": {func(w *world) {
		buffer, encoder := w.open()
		end(encoder)
		commit(buffer)
		commit(buffer)
	}, "commit on a command buffer that is committed"},
	"encoder after commit": {func(w *world) {
		buffer, encoder := w.open()
		end(encoder)
		commit(buffer)
		declareGet("MTLCommandBuffer", "computeCommandEncoder")(buffer)
	}, "computeCommandEncoder on a command buffer that is committed"},
	"wait before commit": {func(w *world) {
		waitFor(declareGet("MTLCommandQueue", "commandBuffer")(w.queue))
	}, "waitUntilCompleted on a command buffer that is not committed"},
	"a macro before the library": {func(w *world) {
		w.compile("// A text.\n#define LENGTH 4\n#include <metal_stdlib>\nkernel void k(device float* y [[buffer(0)]]) { y[0] = LENGTH; }\n")
	}, "defines a macro before it includes metal_stdlib: #define LENGTH 4"},
	"unaligned memory": {func(w *world) {
		noCopy(w.device, 4096, page)
	}, "newBufferWithBytesNoCopy:length:options:deallocator: of 16384 bytes at 0x"},
	"half a page": {func(w *world) {
		noCopy(w.device, 0, page/2)
	}, "of 8192 bytes at 0x"},
	"unknown storage mode": {func(w *world) { w.newBuffer(7) }, "a buffer with options 7"},
	"long bytes": {func(w *world) {
		_, encoder := w.open()
		setBytes(encoder, 4097, 0)
	}, "setBytes:length:atIndex: with 4097 bytes; want 1 to 4096"},
	"threadgroup memory that is no multiple of 16 bytes": {func(w *world) {
		_, encoder := w.open()
		setThreadgroupMemory(encoder, 24, 0)
	}, "setThreadgroupMemoryLength:atIndex: with 24 bytes; want a multiple of 16 up to 32768"},
	"too much threadgroup memory": {func(w *world) {
		_, encoder := w.open()
		setThreadgroupMemory(encoder, 32784, 0)
	}, "setThreadgroupMemoryLength:atIndex: with 32784 bytes"},
	"index of threadgroup memory": {func(w *world) {
		_, encoder := w.open()
		setThreadgroupMemory(encoder, 16, 1)
	}, "setThreadgroupMemoryLength:atIndex: with index 1"},
	"index": {func(w *world) {
		_, encoder := w.open()
		setBuffer(encoder, w.buffer, 0, 31)
	}, "setBuffer:offset:atIndex: with index 31; want at most 30"},
	"offset": {func(w *world) {
		_, encoder := w.open()
		setBuffer(encoder, w.buffer, 65536, 0)
	}, "with offset 65536 in a buffer of 65536 bytes"},
	"no pipeline": {func(w *world) {
		_, encoder := w.open()
		dispatch(encoder, size{1, 1, 1}, size{1, 1, 1})
	}, "dispatchThreadgroups:threadsPerThreadgroup: without a pipeline"},
	"no threadgroups": {func(w *world) {
		_, encoder := w.open()
		w.withPipeline(encoder)
		dispatch(encoder, size{1, 0, 1}, size{1, 1, 1})
	}, "with an extent of 0"},
	"large threadgroup": {func(w *world) {
		_, encoder := w.open()
		w.withPipeline(encoder)
		dispatch(encoder, size{1, 1, 1}, size{16, 17, 1})
	}, "with 272 threads in a threadgroup; the pipeline takes 256"},
	"narrow size": {func(w *world) {
		// A size has three 64-bit words. From three 32-bit words the fake reads other numbers.
		type size struct{ Width, Height, Depth uint32 }
		_, encoder := w.open()
		w.withPipeline(encoder)
		objc.Declare[func(objc.ID, size, size)]("MTLComputeCommandEncoder", "dispatchThreadgroups:threadsPerThreadgroup:").
			Call(encoder, size{1, 1, 1}, size{1, 1, 1})
	}, "dispatchThreadgroups:threadsPerThreadgroup: with"},
	"wrong object": {func(w *world) {
		_, encoder := w.open()
		setBuffer(encoder, w.queue, 0, 0)
	}, "the buffer is a MTLCommandQueue, not a MTLBuffer"},
	"nil": {func(w *world) {
		_, encoder := w.open()
		setBuffer(encoder, 0, 0, 0)
	}, "the buffer is nil, not a MTLBuffer"},
	"copy past the end": {func(w *world) {
		w.copyBuffer(65532, 8)
	}, "of 8 bytes at 65532 in a buffer of 65536"},
	"odd copy": {func(w *world) {
		w.copyBuffer(2, 4)
	}, "macOS wants multiples of 4"},
	"short matrix": {func(w *world) {
		w.matrix(16385)
	}, "initWithBuffer:offset:descriptor:: the buffer of 65536 bytes is too short"},
}

// noCopy makes a buffer of mapped memory, from an offset on.
func noCopy(device objc.ID, offset, length int) {
	mapped, err := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(mapped)))
	aligned := int(-begin % page)
	objc.Declare[func(objc.ID, unsafe.Pointer, uint, uint, objc.ID) objc.ID]("MTLDevice", "newBufferWithBytesNoCopy:length:options:deallocator:").
		Call(device, unsafe.Pointer(&mapped[aligned+offset]), uint(length), 0, 0)
}

func (w *world) copyBuffer(offset, bytes uint) {
	buffer := declareGet("MTLCommandQueue", "commandBuffer")(w.queue)
	encoder := declareGet("MTLCommandBuffer", "blitCommandEncoder")(buffer)
	objc.Declare[func(objc.ID, objc.ID, uint, objc.ID, uint, uint)]("MTLBlitCommandEncoder", "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:").
		Call(encoder, w.buffer, offset, w.newBuffer(0), 0, bytes)
}

// matrix makes a matrix of one row.
func (w *world) matrix(columns uint) objc.ID {
	shape := objc.Declare[func(objc.ID, uint, uint, uint, uint32) objc.ID]("MPSMatrixDescriptor", "matrixDescriptorWithRows:columns:rowBytes:dataType:").
		Call(objc.Class("MPSMatrixDescriptor"), 1, columns, 4*columns, 0x10000020)
	return objc.Declare[func(objc.ID, objc.ID, uint, objc.ID) objc.ID]("MPSMatrix", "initWithBuffer:offset:descriptor:").
		Call(objc.Alloc(objc.Class("MPSMatrix")), w.buffer, 0, shape)
}

// product encodes a product of matrices of one element.
func (w *world) product(buffer objc.ID) {
	m := w.matrix(1)
	kernel := objc.Declare[func(_, _ objc.ID, _, _ bool, _, _, _ uint, _, _ float64) objc.ID]("MPSMatrixMultiplication",
		"initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:").
		Call(objc.Alloc(objc.Class("MPSMatrixMultiplication")), w.device, false, false, 1, 1, 1, 1, 0)
	objc.Declare[func(_, _, _, _, _ objc.ID)]("MPSMatrixMultiplication", "encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:").
		Call(kernel, buffer, m, m, m)
}

// makeMistake makes a mistake. It returns only if the fake forgives the mistake.
func makeMistake(name string) {
	if err := loadFake(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := objc.Load(fake.find); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	objc.InPool(func() {
		w := &world{}
		create, err := fake.find("MTLCreateSystemDefaultDevice")
		if err != nil {
			panic(err)
		}
		device, _, _ := purego.SyscallN(create)
		w.device = objc.ID(device)
		w.queue = objc.Declare[func(objc.ID, uint) objc.ID]("MTLDevice", "newCommandQueueWithMaxCommandBufferCount:").Call(w.device, 8)
		w.buffer = w.newBuffer(0)
		mistakes[name].do(w)
	})
}

func TestFakeEndsTheProcessOnMistakes(t *testing.T) {
	if err := loadFake(); err != nil {
		t.Skip(err)
	}
	for name, mistake := range mistakes {
		t.Run(name, func(t *testing.T) {
			command := exec.Command(os.Args[0])
			command.Env = append(os.Environ(), mistakeVariable+"="+name, "GOTRACEBACK=none")
			said, err := command.CombinedOutput()
			if err == nil {
				t.Fatalf("the fake forgives it: %s", said)
			}
			if !strings.Contains(string(said), "fake Objective-C runtime: ") || !strings.Contains(string(said), mistake.want) {
				t.Errorf("the fake says %.400q, want %q", said, mistake.want)
			}
		})
	}
}
