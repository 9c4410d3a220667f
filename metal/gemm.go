//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"errors"
	"fmt"

	"github.com/ebitengine/purego"

	"crossover/gpu"
	"crossover/metal/objc"
)

// Data types of Metal Performance Shaders and MPSGraph.
//
// Reference: https://developer.apple.com/documentation/metalperformanceshaders/mpsdatatype
const (
	floatBit       = 0x10000000
	complexBit     = 0x01000000
	float32Type    = floatBit | 32
	complex64Type  = floatBit | complexBit | 64 // MPSDataTypeComplexFloat32: two Float32
	bytesOfFloat   = 4
	bytesOfComplex = 8
)

// findMPS returns nil where the device has Metal Performance Shaders.
//
// Reference: https://developer.apple.com/documentation/metalperformanceshaders/mpssupportsmtldevice(_:)
func findMPS(lookup objc.Symbols, device objc.ID) error {
	address, err := lookup("MPSSupportsMTLDevice")
	if err != nil || objc.Class("MPSMatrixMultiplication") == 0 {
		return errors.New("metal: the framework MetalPerformanceShaders is missing (it is a part of macOS)")
	}
	var supports func(device objc.ID) bool
	purego.RegisterFunc(&supports, address)
	if !supports(device) {
		return errors.New("metal: Metal Performance Shaders do not support this GPU")
	}
	return nil
}

func (d *driver) GEMMMissing() error { return d.missingMPS }

func (d *driver) GEMMVersion() string { return "Metal Performance Shaders, " + d.version }

// multiplication is a product with its operands.
type multiplication struct {
	objects objects
	kernel  objc.ID
	encode  objc.Message
}

// NewGEMM readies MPSMatrixMultiplication.
func (d *driver) NewGEMM(c, a, b gpu.Region, m, n, k int, transposed bool, alpha, beta float32) (_ gpu.External, err error) {
	if d.missingMPS != nil {
		return nil, d.missingMPS
	}
	rowsOfB, columnsOfB := k, n
	if transposed {
		rowsOfB, columnsOfB = n, k
	}
	product := &multiplication{}
	objc.InPool(func() {
		left := product.matrix(a, m, k, &err)
		right := product.matrix(b, rowsOfB, columnsOfB, &err)
		result := product.matrix(c, m, n, &err)
		if err != nil {
			return
		}
		product.kernel = product.objects.own(initMultiplication.Call(objc.Alloc(objc.Class("MPSMatrixMultiplication")),
			d.device, false, transposed, uint(m), uint(n), uint(k), float64(alpha), float64(beta)))
		if product.kernel == 0 {
			err = fmt.Errorf("metal: no product of %d×%d×%d", m, n, k)
			return
		}
		var encode []objc.Message
		encodeMultiplication.To(&encode)(0, 0, left, right, result)
		product.encode = encode[0]
	})
	if err != nil {
		product.Close()
		return nil, err
	}
	return product, nil
}

// matrix makes a matrix of a region, rows of floats without gaps. Too short a buffer would end the process.
func (p *multiplication) matrix(region gpu.Region, rows, columns int, err *error) objc.ID {
	if *err != nil {
		return 0
	}
	m, ok := region.Memory.(*memory)
	if !ok {
		*err = errForeign
		return 0
	}
	rowBytes := columns * bytesOfFloat
	if rows < 1 || columns < 1 || region.Offset < 0 || region.Offset+rows*rowBytes > m.bytes {
		*err = fmt.Errorf("metal: a matrix of %d×%d from byte %d on in a buffer of %d bytes", rows, columns, region.Offset, m.bytes)
		return 0
	}
	shape := matrixDescriptor.Call(objc.Class("MPSMatrixDescriptor"), uint(rows), uint(columns), uint(rowBytes), float32Type)
	matrix := p.objects.own(initMatrix.Call(objc.Alloc(objc.Class("MPSMatrix")), m.buffer, uint(region.Offset), shape))
	if matrix == 0 {
		*err = fmt.Errorf("metal: no matrix of %d×%d", rows, columns)
	}
	return matrix
}

// Encode appends the product to an MTLCommandBuffer that has no encoder open.
func (p *multiplication) Encode(target uintptr) error {
	p.encode.Set(0, target)
	p.encode.Send(p.kernel)
	return nil
}

func (p *multiplication) Close() { p.objects.release() }

// objects are some that are owned together.
type objects []objc.ID

// own takes an object over and returns it; nil stays nil.
func (o *objects) own(object objc.ID) objc.ID {
	if object != 0 {
		*o = append(*o, object)
	}
	return object
}

// release gives them up, the last one first.
func (o *objects) release() {
	objc.InPool(func() {
		for i := len(*o) - 1; i >= 0; i-- {
			objc.Release((*o)[i])
		}
	})
	*o = nil
}
