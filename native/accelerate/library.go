//go:build (darwin || linux) && (amd64 || arm64)

package accelerate

import (
	"errors"
	"fmt"
	"os"

	"github.com/ebitengine/purego"

	"crossover/native/loadable"
)

// load opens the framework, or the library that the environment names.
func load() (*library, error) {
	path := framework
	if override := os.Getenv(Environment); override != "" {
		path = override
	}
	if path == "" {
		return nil, errors.New("accelerate: the framework is a part of macOS")
	}
	handle, err := loadable.Open(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("accelerate: %w", err)
	}
	lib := &library{}
	for _, symbol := range []struct {
		name    string
		address *uintptr
	}{
		{"vDSP_vsmsa", &lib.vsmsa},
		{"vDSP_vsadd", &lib.vsadd},
		{"vDSP_vadd", &lib.vadd},
		{"vDSP_vmul", &lib.vmul},
		{"vDSP_vma", &lib.vma},
		{"vDSP_vsmul", &lib.vsmul},
		{"vDSP_vabs", &lib.vabs},
		{"vDSP_vsub", &lib.vsub},
		{"vDSP_vthr", &lib.vthr},
		{"vDSP_zvmags", &lib.zvmags},
		{"vDSP_zvabs", &lib.zvabs},
		{"vDSP_sve", &lib.sve},
		{"vDSP_maxv", &lib.maxv},
		{"vDSP_meanv", &lib.meanv},
		{"vDSP_measqv", &lib.measqv},
		{"vDSP_minv", &lib.minv},
		{"vDSP_maxvi", &lib.maxvi},
		{"vDSP_conv", &lib.conv},
		{"vDSP_desamp", &lib.desamp},
		{"vvlogf", &lib.vvlogf},
		{"vvexpf", &lib.vvexpf},
		{"vvlog1pf", &lib.vvlog1pf},
		{"vvlog10f", &lib.vvlog10f},
		{"vvtanhf", &lib.vvtanhf},
		{"vvpowsf", &lib.vvpowsf},
		{"vDSP_create_fftsetup", &lib.createFFT},
		{"vDSP_destroy_fftsetup", &lib.destroyFFT},
		{"vDSP_fft_zrip", &lib.fftZrip},
		{"vDSP_fft_zip", &lib.fftZip},
		{"vDSP_fft_zop", &lib.fftZop},
		{"vDSP_ctoz", &lib.ctoz},
		{"vDSP_ztoc", &lib.ztoc},
		{"vDSP_DFT_zrop_CreateSetup", &lib.createDFT},
		{"vDSP_DFT_zop_CreateSetup", &lib.createComplexDFT},
		{"vDSP_DFT_DestroySetup", &lib.destroyDFT},
		{"vDSP_DFT_Execute", &lib.executeDFT},
		{"vDSP_biquad_CreateSetup", &lib.createBiquad},
		{"vDSP_biquad_DestroySetup", &lib.destroyBiquad},
		{"vDSP_biquad", &lib.biquad},
		{"sgemm_", &lib.sgemm},
	} {
		if *symbol.address, err = loadable.Symbol(handle, symbol.name); err != nil {
			return nil, fmt.Errorf("accelerate: %s has no %s (it comes with macOS 10.15 and later)", path, symbol.name)
		}
	}
	return lib, nil
}

func invoke(function uintptr, arguments []uintptr) uintptr {
	result, _, _ := purego.SyscallN(function, arguments...)
	return result
}
