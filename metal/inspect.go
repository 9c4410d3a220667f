//go:build (darwin || linux) && (amd64 || arm64)

package metal

// The methods of this file are for the tests, which find them by interfaces of their own. The tests are in another package: if
// some were in this one, Go would compile every operation of the catalogue once more for them.

// ProductLimit returns the limit of matrix products, in bytes.
func (d *driver) ProductLimit() int { return d.mostProduct }

// LimitProducts sets the limit.
func (d *driver) LimitProducts(bytes int) { d.mostProduct = bytes }

// Parts returns how many parts a matrix product has.
func (p *multiplication) Parts() int { return len(p.parts) }

// Passes returns how many encoders and libraries a submission uses.
func (r *recording) Passes() int { return len(r.passes) }

// Messages returns how many messages a submission sends to encoders.
func (r *recording) Messages() (n int) {
	for _, p := range r.passes {
		n += len(p.encode)
	}
	return n
}
