//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"errors"
	"fmt"
	"math"

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

// findMPS returns nil if the device has Metal Performance Shaders.
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

// multiplication is a product with its operands. It is cut into parts of so few rows that each part comes out right.
type multiplication struct {
	driver  *driver
	objects objects
	parts   []part
}

// part is some rows of a product.
type part struct {
	kernel objc.ID
	encode objc.Message
}

// mostParts is the greatest number of parts. With more of them, each part would have so few rows that it spends its
// time reading B.
const mostParts = 64

// rowsTogether returns how many of the m rows of a product each part has.
func (d *driver) rowsTogether(m, n, k int) (int, error) {
	if m < 1 || n < 1 || k < 1 || max(m, n, k) > math.MaxInt32 {
		return 0, fmt.Errorf("metal: a product of %d×%d×%d; want 1 to %d in each dimension", m, n, k, math.MaxInt32)
	}
	most := d.mostProduct/(n*bytesOfFloat) - 2*k
	if most < 1 || (m-1)/most >= mostParts {
		return 0, fmt.Errorf("metal: Metal Performance Shaders on %s return NaN for products as large as %d×%d×%d (want 4·n·(m + 2k) of at most %d)",
			d.facts.Name, m, n, k, d.mostProduct)
	}
	parts := (m-1)/most + 1
	return (m-1)/parts + 1, nil
}

// NewProduct readies MPSMatrixMultiplication. A transposed A cannot be cut into parts by its rows, because a part of them is
// some columns of what is stored. Such a product takes one part.
func (d *driver) NewProduct(of gpu.Product) (_ gpu.External, err error) {
	m, n, k := of.M, of.N, of.K
	if d.missingMPS != nil {
		return nil, d.missingMPS
	}
	together, err := d.rowsTogether(m, n, k)
	if err != nil {
		return nil, err
	}
	if of.TransposeA && together < m {
		return nil, fmt.Errorf("metal: Metal Performance Shaders on %s return NaN for products as large as %d×%d×%d, and A is transposed",
			d.facts.Name, m, n, k)
	}
	product := &multiplication{driver: d}
	objc.InPool(func() {
		right := product.stored(of.B, k, n, of.TransposeB, &err)
		for first := 0; first < m && err == nil; first += together {
			rows := min(together, m-first)
			left := product.stored(after(of.A, first*k), rows, k, of.TransposeA, &err)
			result := product.matrix(after(of.C, first*n), rows, n, &err)
			if err == nil {
				part := of
				part.M = rows
				err = product.append(left, right, result, part)
			}
		}
	})
	if err != nil {
		product.Close()
		return nil, err
	}
	return product, nil
}

// after is the region without its first floats.
func after(r gpu.Region, floats int) gpu.Region {
	r.Offset += floats * bytesOfFloat
	r.Bytes -= floats * bytesOfFloat
	return r
}

// append readies a part.
func (p *multiplication) append(left, right, result objc.ID, of gpu.Product) error {
	kernel := p.objects.own(initMultiplication.Call(objc.Alloc(objc.Class("MPSMatrixMultiplication")),
		p.driver.device, of.TransposeA, of.TransposeB, uint(of.M), uint(of.N), uint(of.K), float64(of.Alpha), float64(of.Beta)))
	if kernel == 0 {
		return fmt.Errorf("metal: no product of %d×%d×%d", of.M, of.N, of.K)
	}
	var encode []objc.Message
	encodeMultiplication.To(&encode)(0, 0, left, right, result)
	p.parts = append(p.parts, part{kernel, encode[0]})
	return nil
}

// stored makes a matrix of a region that holds a rows×columns matrix or its transpose.
func (p *multiplication) stored(region gpu.Region, rows, columns int, transposed bool, err *error) objc.ID {
	if transposed {
		rows, columns = columns, rows
	}
	return p.matrix(region, rows, columns, err)
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
	if region.Offset < 0 || rows > (m.bytes-region.Offset)/rowBytes {
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
	for i := range p.parts {
		p.parts[i].encode.Set(0, target)
		p.parts[i].encode.Send(p.parts[i].kernel)
	}
	return nil
}

func (p *multiplication) Close() { p.objects.release() }

// objects is a list of objects that are owned together.
type objects []objc.ID

// own takes an object over and returns it; nil stays nil.
func (o *objects) own(object objc.ID) objc.ID {
	if object != 0 {
		*o = append(*o, object)
	}
	return object
}

// release releases the objects, the last one first.
func (o *objects) release() {
	objc.InPool(func() {
		for i := len(*o) - 1; i >= 0; i-- {
			objc.Release((*o)[i])
		}
	})
	*o = nil
}
