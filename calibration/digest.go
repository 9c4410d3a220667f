package calibration

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// digest returns the digest of a host: SHA-256 of its text without white space between its tokens, with "" in place of the
// digest. before and behind are the text on the two sides of the digest.
func digest(before, behind []byte) string {
	sum := sha256.New()
	text(before).compactTo(sum)
	sum.Write([]byte(`""`))
	text(behind).compactTo(sum)
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// edited reports whether the text of a host has a digest that does not match.
func (e *Entry) edited() bool {
	return e.digest != "" && digest(e.text[e.at.start:e.digestAt.start], e.text[e.digestAt.end:e.at.end]) != e.digest
}

// compactTo writes the text without the white space between its tokens, as json.Compact does. The text must be part of a JSON
// text, and not begin or end inside a string.
func (t text) compactTo(to io.Writer) {
	compact := make([]byte, 0, 32<<10)
	for i := t.skipSpace(0); i < len(t); i = t.skipSpace(i) {
		token := i
		for i < len(t) && !breaks[t[i]] {
			i++
		}
		if i == token {
			behind, err := t.skipString(i)
			if err != nil {
				behind = len(t)
			}
			i = behind
		}
		if len(compact)+i-token > cap(compact) {
			to.Write(compact)
			compact = compact[:0]
		}
		compact = append(compact, t[token:i]...)
	}
	to.Write(compact)
}

// breaks marks white space and the beginning of strings.
var breaks = [256]bool{' ': true, '\t': true, '\n': true, '\r': true, '"': true}

// raw returns the text of the host from the file.
func (e *Entry) raw() []byte { return e.text[e.at.start:e.at.end] }
