//go:build amd64 || arm64

package cuda

// libcuda is the driver API as far as it is used. Every function returns a CUresult.
// Reference: https://docs.nvidia.com/cuda/cuda-driver-api/
type libcuda struct {
	init, driverGetVersion                               function
	deviceGetCount, deviceGet, deviceGetName             function
	deviceGetAttribute, deviceTotalMem                   function
	primaryCtxSetFlags, primaryCtxRetain                 function
	primaryCtxRelease, ctxSetCurrent                     function
	moduleLoadData, moduleGetFunction, moduleUnload      function
	funcGetAttribute, funcSetAttribute                   function
	memAlloc, memFree, memHostAlloc, memFreeHost         function
	memsetD8Async, memcpyAsync                           function
	streamCreate, streamSynchronize, streamDestroy       function
	streamBeginCapture, streamEndCapture                 function
	graphInstantiate, graphUpload, graphLaunch           function
	graphDestroy, graphExecDestroy                       function
	launchKernel                                         function
	eventCreate, eventRecord, eventElapsed, eventDestroy function
	getErrorName, getErrorString                         function
}

var findCUDA = search{
	environment: "CROSSOVER_LIBCUDA",
	names:       []string{"libcuda.so.1"},
	advice:      "install NVIDIA's driver",
}

// load finds and loads libcuda. Names with a version are the functions that the plain names mean in the headers of
// every CUDA since 11.
func (l *libcuda) load() error {
	return findCUDA.open(named(map[string]*function{
		"cuInit":                        &l.init,
		"cuDriverGetVersion":            &l.driverGetVersion,
		"cuDeviceGetCount":              &l.deviceGetCount,
		"cuDeviceGet":                   &l.deviceGet,
		"cuDeviceGetName":               &l.deviceGetName,
		"cuDeviceGetAttribute":          &l.deviceGetAttribute,
		"cuDeviceTotalMem_v2":           &l.deviceTotalMem,
		"cuDevicePrimaryCtxSetFlags_v2": &l.primaryCtxSetFlags,
		"cuDevicePrimaryCtxRetain":      &l.primaryCtxRetain,
		"cuDevicePrimaryCtxRelease_v2":  &l.primaryCtxRelease,
		"cuCtxSetCurrent":               &l.ctxSetCurrent,
		"cuModuleLoadData":              &l.moduleLoadData,
		"cuModuleGetFunction":           &l.moduleGetFunction,
		"cuModuleUnload":                &l.moduleUnload,
		"cuFuncGetAttribute":            &l.funcGetAttribute,
		"cuFuncSetAttribute":            &l.funcSetAttribute,
		"cuMemAlloc_v2":                 &l.memAlloc,
		"cuMemFree_v2":                  &l.memFree,
		"cuMemHostAlloc":                &l.memHostAlloc,
		"cuMemFreeHost":                 &l.memFreeHost,
		"cuMemsetD8Async":               &l.memsetD8Async,
		"cuMemcpyAsync":                 &l.memcpyAsync,
		"cuStreamCreate":                &l.streamCreate,
		"cuStreamSynchronize":           &l.streamSynchronize,
		"cuStreamDestroy_v2":            &l.streamDestroy,
		"cuStreamBeginCapture_v2":       &l.streamBeginCapture,
		"cuStreamEndCapture":            &l.streamEndCapture,
		"cuGraphInstantiateWithFlags":   &l.graphInstantiate,
		"cuGraphUpload":                 &l.graphUpload,
		"cuGraphLaunch":                 &l.graphLaunch,
		"cuGraphDestroy":                &l.graphDestroy,
		"cuGraphExecDestroy":            &l.graphExecDestroy,
		"cuLaunchKernel":                &l.launchKernel,
		"cuEventCreate":                 &l.eventCreate,
		"cuEventRecordWithFlags":        &l.eventRecord,
		"cuEventElapsedTime":            &l.eventElapsed,
		"cuEventDestroy_v2":             &l.eventDestroy,
		"cuGetErrorName":                &l.getErrorName,
		"cuGetErrorString":              &l.getErrorString,
	})...)
}

// Values from cuda.h.
const (
	attributeMaxThreadsPerBlock           = 1
	attributeMaxSharedMemoryPerBlock      = 8
	attributeWarpSize                     = 10
	attributeMaxRegistersPerBlock         = 12
	attributeMultiprocessorCount          = 16
	attributeComputeCapabilityMajor       = 75
	attributeComputeCapabilityMinor       = 76
	attributeMaxSharedMemoryPerBlockOptin = 97

	functionMaxThreadsPerBlock    = 0
	functionSharedBytes           = 1
	functionMaxDynamicSharedBytes = 8

	contextScheduleSpin = 1
	streamNonBlocking   = 1
	captureRelaxed      = 2
	eventRecordExternal = 1
	hostAllocPortable   = 1
	hostAllocDeviceMap  = 2
)
