//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"crossover/gpu"
	"crossover/metal/objc"
)

// Page is the size that shared memory is a multiple of.
const Page = page

// Open opens a driver on a GPU with the given number of cores.
func Open(lookup objc.Symbols, cores int) (gpu.Driver, error) {
	d, err := open(lookup, cores)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Close is the driver's close.
func Close(d gpu.Driver) { d.(*driver).close() }

// MostProduct returns the limit of a driver's matrix products, in bytes. With a second argument it sets the limit.
func MostProduct(d gpu.Driver, set ...int) int {
	for _, v := range set {
		d.(*driver).mostProduct = v
	}
	return d.(*driver).mostProduct
}

// Parts returns how many parts a matrix product has.
func Parts(product gpu.External) int { return len(product.(*multiplication).parts) }

// Messages returns how many messages a submission of a recording sends to encoders.
func Messages(r gpu.Recording) (n int) {
	for _, p := range r.(*recording).passes {
		n += len(p.encode)
	}
	return n
}

// Passes returns how many encoders and libraries a submission of a recording uses.
func Passes(r gpu.Recording) int { return len(r.(*recording).passes) }
