//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"unsafe"

	"crossover/metal/objc"
)

// Structs that go by value.
type (
	// Reference: https://developer.apple.com/documentation/metal/mtlsize
	mtlSize struct{ Width, Height, Depth uint }
	// Reference: https://developer.apple.com/documentation/foundation/nsrange-c.struct
	nsRange struct{ Location, Length uint }
	// Reference: https://developer.apple.com/documentation/foundation/operatingsystemversion
	nsOperatingSystemVersion struct{ Major, Minor, Patch int }
)

// Foundation.
//
// Reference: https://developer.apple.com/documentation/foundation
var (
	// Reference: https://developer.apple.com/documentation/foundation/nsstring/stringwithutf8string:
	stringWithUTF8 = objc.Declare[func(objc.ID, string) objc.ID]("NSString", "stringWithUTF8String:")
	// Reference: https://developer.apple.com/documentation/foundation/nsstring/utf8string
	utf8String = objc.Declare[func(objc.ID) string]("NSString", "UTF8String")

	// Reference: https://developer.apple.com/documentation/foundation/nserror/code
	errorCode = objc.Declare[func(objc.ID) int]("NSError", "code")
	// Reference: https://developer.apple.com/documentation/foundation/nserror/domain
	errorDomain = objc.Declare[func(objc.ID) objc.ID]("NSError", "domain")
	// Reference: https://developer.apple.com/documentation/foundation/nserror/localizeddescription
	localizedDescription = objc.Declare[func(objc.ID) objc.ID]("NSError", "localizedDescription")

	// Reference: https://developer.apple.com/documentation/foundation/nsarray/arraywithobjects:count:
	arrayWithObjects = objc.Declare[func(objc.ID, *objc.ID, uint) objc.ID]("NSArray", "arrayWithObjects:count:")
	// Reference: https://developer.apple.com/documentation/foundation/nsdictionary/dictionarywithobject:forkey:
	dictionaryWithObject = objc.Declare[func(objc.ID, objc.ID, objc.ID) objc.ID]("NSDictionary", "dictionaryWithObject:forKey:")
	// Reference: https://developer.apple.com/documentation/foundation/nsnumber/numberwithunsignedinteger:
	numberWithUint = objc.Declare[func(objc.ID, uint) objc.ID]("NSNumber", "numberWithUnsignedInteger:")

	// Reference: https://developer.apple.com/documentation/foundation/processinfo/processinfo
	processInfo = objc.Declare[func(objc.ID) objc.ID]("NSProcessInfo", "processInfo")
	// Reference: https://developer.apple.com/documentation/foundation/processinfo/operatingsystemversion
	operatingSystemVersion = objc.Declare[func(objc.ID) nsOperatingSystemVersion]("NSProcessInfo", "operatingSystemVersion")
)

// The device and what it makes.
//
// Reference: https://developer.apple.com/documentation/metal/mtldevice
var (
	// Reference: https://developer.apple.com/documentation/metal/mtldevice/name
	deviceName = objc.Declare[func(objc.ID) objc.ID]("MTLDevice", "name")
	// Reference: https://developer.apple.com/documentation/metal/mtldevice/supportsfamily(_:)
	supportsFamily = objc.Declare[func(objc.ID, int) bool]("MTLDevice", "supportsFamily:")
	// Reference: https://developer.apple.com/documentation/metal/mtldevice/hasunifiedmemory
	hasUnifiedMemory = objc.Declare[func(objc.ID) bool]("MTLDevice", "hasUnifiedMemory")
	// Reference: https://developer.apple.com/documentation/metal/mtldevice/recommendedmaxworkingsetsize
	recommendedWorkingSet = objc.Declare[func(objc.ID) uint64]("MTLDevice", "recommendedMaxWorkingSetSize")
	// Reference: https://developer.apple.com/documentation/metal/mtldevice/maxbufferlength
	maxBufferLength = objc.Declare[func(objc.ID) uint]("MTLDevice", "maxBufferLength")
	// Reference: https://developer.apple.com/documentation/metal/mtldevice/maxthreadsperthreadgroup
	maxThreadsPerThreadgroup = objc.Declare[func(objc.ID) mtlSize]("MTLDevice", "maxThreadsPerThreadgroup")
	// Reference: https://developer.apple.com/documentation/metal/mtldevice/maxthreadgroupmemorylength
	maxThreadgroupMemory = objc.Declare[func(objc.ID) uint]("MTLDevice", "maxThreadgroupMemoryLength")

	// Reference: https://developer.apple.com/documentation/metal/mtldevice/makecommandqueue(maxcommandbuffercount:)
	newCommandQueue = objc.Declare[func(objc.ID, uint) objc.ID]("MTLDevice", "newCommandQueueWithMaxCommandBufferCount:")
	// Reference: https://developer.apple.com/documentation/metal/mtldevice/makebuffer(bytesnocopy:length:options:deallocator:)
	newBufferWithBytesNoCopy = objc.Declare[func(objc.ID, unsafe.Pointer, uint, uint, objc.ID) objc.ID]("MTLDevice", "newBufferWithBytesNoCopy:length:options:deallocator:")
	// Reference: https://developer.apple.com/documentation/metal/mtldevice/makebuffer(length:options:)
	newBufferWithLength = objc.Declare[func(objc.ID, uint, uint) objc.ID]("MTLDevice", "newBufferWithLength:options:")
	// Reference: https://developer.apple.com/documentation/metal/mtldevice/makelibrary(source:options:)
	newLibraryWithSource = objc.Declare[func(objc.ID, objc.ID, objc.ID, *objc.ID) objc.ID]("MTLDevice", "newLibraryWithSource:options:error:")
	// Reference: https://developer.apple.com/documentation/metal/mtldevice/makecomputepipelinestate(function:)
	newComputePipelineState = objc.Declare[func(objc.ID, objc.ID, *objc.ID) objc.ID]("MTLDevice", "newComputePipelineStateWithFunction:error:")
)

// Compiling.
//
// Reference: https://developer.apple.com/documentation/metal/mtlcompileoptions
var (
	// From macOS 15 on.
	//
	// Reference: https://developer.apple.com/documentation/metal/mtlcompileoptions/mathmode
	setMathMode = objc.Declare[func(objc.ID, int)]("MTLCompileOptions", "setMathMode:")
	// From macOS 15 on.
	//
	// Reference: https://developer.apple.com/documentation/metal/mtlcompileoptions/mathfloatingpointfunctions
	setMathFunctions = objc.Declare[func(objc.ID, int)]("MTLCompileOptions", "setMathFloatingPointFunctions:")
	// Reference: https://developer.apple.com/documentation/metal/mtlcompileoptions/fastmathenabled
	setFastMathEnabled = objc.Declare[func(objc.ID, bool)]("MTLCompileOptions", "setFastMathEnabled:")

	// Reference: https://developer.apple.com/documentation/metal/mtllibrary/makefunction(name:)
	newFunctionWithName = objc.Declare[func(objc.ID, objc.ID) objc.ID]("MTLLibrary", "newFunctionWithName:")

	// Reference: https://developer.apple.com/documentation/metal/mtlcomputepipelinestate/maxtotalthreadsperthreadgroup
	maxTotalThreads = objc.Declare[func(objc.ID) uint]("MTLComputePipelineState", "maxTotalThreadsPerThreadgroup")
	// Reference: https://developer.apple.com/documentation/metal/mtlcomputepipelinestate/threadexecutionwidth
	threadExecutionWidth = objc.Declare[func(objc.ID) uint]("MTLComputePipelineState", "threadExecutionWidth")
)

// Command buffers.
//
// Reference: https://developer.apple.com/documentation/metal/mtlcommandbuffer
var (
	// Reference: https://developer.apple.com/documentation/metal/mtlcommandqueue/makecommandbuffer()
	commandBuffer = objc.Declare[func(objc.ID) objc.ID]("MTLCommandQueue", "commandBuffer")
	// Reference: https://developer.apple.com/documentation/metal/mtlcommandqueue/makecommandbufferwithunretainedreferences()
	unretainedCommandBuffer = objc.Declare[func(objc.ID) objc.ID]("MTLCommandQueue", "commandBufferWithUnretainedReferences")

	// Reference: https://developer.apple.com/documentation/metal/mtlcommandbuffer/makecomputecommandencoder()
	computeCommandEncoder = objc.Declare[func(objc.ID) objc.ID]("MTLCommandBuffer", "computeCommandEncoder")
	// Reference: https://developer.apple.com/documentation/metal/mtlcommandbuffer/makeblitcommandencoder()
	blitCommandEncoder = objc.Declare[func(objc.ID) objc.ID]("MTLCommandBuffer", "blitCommandEncoder")
	// Reference: https://developer.apple.com/documentation/metal/mtlcommandbuffer/commit()
	commit = objc.Declare[func(objc.ID)]("MTLCommandBuffer", "commit")
	// Reference: https://developer.apple.com/documentation/metal/mtlcommandbuffer/waituntilcompleted()
	waitUntilCompleted = objc.Declare[func(objc.ID)]("MTLCommandBuffer", "waitUntilCompleted")
	// Reference: https://developer.apple.com/documentation/metal/mtlcommandbuffer/status
	status = objc.Declare[func(objc.ID) uint]("MTLCommandBuffer", "status")
	// Reference: https://developer.apple.com/documentation/metal/mtlcommandbuffer/error
	bufferError = objc.Declare[func(objc.ID) objc.ID]("MTLCommandBuffer", "error")
	// Reference: https://developer.apple.com/documentation/metal/mtlcommandbuffer/gpustarttime
	gpuStartTime = objc.Declare[func(objc.ID) float64]("MTLCommandBuffer", "GPUStartTime")
	// Reference: https://developer.apple.com/documentation/metal/mtlcommandbuffer/gpuendtime
	gpuEndTime = objc.Declare[func(objc.ID) float64]("MTLCommandBuffer", "GPUEndTime")
)

// Encoders.
//
// Reference: https://developer.apple.com/documentation/metal/mtlcomputecommandencoder
var (
	// Reference: https://developer.apple.com/documentation/metal/mtlcommandencoder/endencoding()
	endEncoding = objc.Declare[func(objc.ID)]("MTLCommandEncoder", "endEncoding")

	// Reference: https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/setcomputepipelinestate(_:)
	setPipeline = objc.Declare[func(objc.ID, objc.ID)]("MTLComputeCommandEncoder", "setComputePipelineState:")
	// Reference: https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/setbuffer(_:offset:index:)
	setBuffer = objc.Declare[func(objc.ID, objc.ID, uint, uint)]("MTLComputeCommandEncoder", "setBuffer:offset:atIndex:")
	// Reference: https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/setbufferoffset(_:index:)
	setBufferOffset = objc.Declare[func(objc.ID, uint, uint)]("MTLComputeCommandEncoder", "setBufferOffset:atIndex:")
	// Reference: https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/setbytes(_:length:index:)
	setBytes = objc.Declare[func(objc.ID, unsafe.Pointer, uint, uint)]("MTLComputeCommandEncoder", "setBytes:length:atIndex:")
	// Reference: https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/setthreadgroupmemorylength(_:index:)
	setThreadgroupMemory = objc.Declare[func(objc.ID, uint, uint)]("MTLComputeCommandEncoder", "setThreadgroupMemoryLength:atIndex:")
	// Reference: https://developer.apple.com/documentation/metal/mtlcomputecommandencoder/dispatchthreadgroups(_:threadsperthreadgroup:)
	dispatchThreadgroups = objc.Declare[func(objc.ID, mtlSize, mtlSize)]("MTLComputeCommandEncoder", "dispatchThreadgroups:threadsPerThreadgroup:")

	// Reference: https://developer.apple.com/documentation/metal/mtlblitcommandencoder/copy(from:sourceoffset:to:destinationoffset:size:)
	copyBuffer = objc.Declare[func(objc.ID, objc.ID, uint, objc.ID, uint, uint)]("MTLBlitCommandEncoder", "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:")
	// Reference: https://developer.apple.com/documentation/metal/mtlblitcommandencoder/fill(buffer:range:value:)
	fillBuffer = objc.Declare[func(objc.ID, objc.ID, nsRange, uint8)]("MTLBlitCommandEncoder", "fillBuffer:range:value:")
)

// Metal Performance Shaders: matrix multiplication.
//
// Reference: https://developer.apple.com/documentation/metalperformanceshaders/mpsmatrixmultiplication
var (
	// Reference: https://developer.apple.com/documentation/metalperformanceshaders/mpsmatrixdescriptor/init(rows:columns:rowbytes:datatype:)
	matrixDescriptor = objc.Declare[func(objc.ID, uint, uint, uint, uint32) objc.ID]("MPSMatrixDescriptor", "matrixDescriptorWithRows:columns:rowBytes:dataType:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshaders/mpsmatrix/init(buffer:offset:descriptor:)
	initMatrix = objc.Declare[func(objc.ID, objc.ID, uint, objc.ID) objc.ID]("MPSMatrix", "initWithBuffer:offset:descriptor:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshaders/mpsmatrixmultiplication/init(device:transposeleft:transposeright:resultrows:resultcolumns:interiorcolumns:alpha:beta:)
	initMultiplication = objc.Declare[func(_ objc.ID, device objc.ID, transposeLeft, transposeRight bool, rows, columns, interior uint, alpha, beta float64) objc.ID]("MPSMatrixMultiplication", "initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshaders/mpsmatrixmultiplication/encode(commandbuffer:leftmatrix:rightmatrix:resultmatrix:)
	encodeMultiplication = objc.Declare[func(_ objc.ID, buffer, left, right, result objc.ID)]("MPSMatrixMultiplication", "encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:")
)

// MPSGraph: the fast Fourier transform, from macOS 14 on.
//
// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraph
var (
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraph/placeholder(shape:datatype:name:)
	placeholder = objc.Declare[func(_, shape objc.ID, dataType uint32, name objc.ID) objc.ID]("MPSGraph", "placeholderWithShape:dataType:name:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphfftdescriptor
	fftDescriptor = objc.Declare[func(objc.ID) objc.ID]("MPSGraphFFTDescriptor", "descriptor")
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphfftdescriptor/scalingmode
	setScalingMode = objc.Declare[func(objc.ID, uint)]("MPSGraphFFTDescriptor", "setScalingMode:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphfftdescriptor/inverse
	setInverse = objc.Declare[func(objc.ID, bool)]("MPSGraphFFTDescriptor", "setInverse:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphfftdescriptor/roundtooddhermitean
	setOddHermitean = objc.Declare[func(objc.ID, bool)]("MPSGraphFFTDescriptor", "setRoundToOddHermitean:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraph/fastfouriertransform(_:axes:descriptor:name:)
	complexFFT = objc.Declare[func(_, tensor, axes, descriptor, name objc.ID) objc.ID]("MPSGraph", "fastFourierTransformWithTensor:axes:descriptor:name:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraph/realtohermiteanfft(_:axes:descriptor:name:)
	realFFT = objc.Declare[func(_, tensor, axes, descriptor, name objc.ID) objc.ID]("MPSGraph", "realToHermiteanFFTWithTensor:axes:descriptor:name:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraph/hermiteantorealfft(_:axes:descriptor:name:)
	inverseRealFFT = objc.Declare[func(_, tensor, axes, descriptor, name objc.ID) objc.ID]("MPSGraph", "HermiteanToRealFFTWithTensor:axes:descriptor:name:")

	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphdevice/init(mtldevice:)
	graphDevice = objc.Declare[func(_, device objc.ID) objc.ID]("MPSGraphDevice", "deviceWithMTLDevice:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphshapedtype/init(shape:datatype:)
	initShapedType = objc.Declare[func(_, shape objc.ID, dataType uint32) objc.ID]("MPSGraphShapedType", "initWithShape:dataType:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraph/compile(with:feeds:targettensors:targetoperations:compilationdescriptor:)
	compileGraph = objc.Declare[func(_, device, feeds, targets, operations, descriptor objc.ID) objc.ID]("MPSGraph", "compileWithDevice:feeds:targetTensors:targetOperations:compilationDescriptor:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphtensordata/init(_:shape:datatype:)
	initTensorData = objc.Declare[func(_, buffer, shape objc.ID, dataType uint32) objc.ID]("MPSGraphTensorData", "initWithMTLBuffer:shape:dataType:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshadersgraph/mpsgraphexecutable/encode(to:inputs:results:executiondescriptor:)
	encodeExecutable = objc.Declare[func(_, buffer, inputs, results, descriptor objc.ID) objc.ID]("MPSGraphExecutable", "encodeToCommandBuffer:inputsArray:resultsArray:executionDescriptor:")

	// Reference: https://developer.apple.com/documentation/metalperformanceshaders/mpscommandbuffer/init(commandbuffer:)
	wrapCommandBuffer = objc.Declare[func(_, buffer objc.ID) objc.ID]("MPSCommandBuffer", "commandBufferWithCommandBuffer:")
	// Reference: https://developer.apple.com/documentation/metalperformanceshaders/mpscommandbuffer/commandbuffer
	wrappedCommandBuffer = objc.Declare[func(objc.ID) objc.ID]("MPSCommandBuffer", "commandBuffer")
)
