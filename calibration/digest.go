package calibration

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// digest returns the digest of a host: SHA-256 of its compact text with "" in place of the digest. before and behind
// are the text on the two sides of the digest.
func digest(before, behind []byte) string {
	sum := sha256.New()
	sum.Write(before)
	sum.Write([]byte(`""`))
	sum.Write(behind)
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// edited reports whether the text of a host has a digest that does not match.
func (e *Entry) edited() bool {
	if e.digest == "" {
		return false
	}
	var buffer bytes.Buffer
	if err := json.Compact(&buffer, e.raw()); err != nil {
		return true
	}
	compact := text(buffer.Bytes())
	var value span
	_, err := compact.object(0, func(key string, at int) (int, error) {
		behind, err := compact.skipValue(at)
		if strings.EqualFold(key, "digest") {
			value = span{at, behind}
		}
		return behind, err
	})
	return err != nil || digest(compact[:value.start], compact[value.end:]) != e.digest
}

// raw returns the text of the host from the file.
func (e *Entry) raw() []byte { return e.text[e.at.start:e.at.end] }
