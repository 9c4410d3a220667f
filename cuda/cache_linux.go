//go:build amd64 || arm64

package cuda

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// cache keeps machine code on disk. An entry that cannot be read counts as absent. An entry that cannot be written is
// made again by the next process.
type cache struct {
	folder string // "" keeps nothing

	mu   sync.Mutex
	used map[string]bool // the entries that this process read or wrote
}

// cacheEnvironment names the variable that holds the cache's folder, or "off".
const cacheEnvironment = "CROSSOVER_CACHE"

func newCache() cache {
	folder := os.Getenv(cacheEnvironment)
	if folder == "" {
		if user, err := os.UserCacheDir(); err == nil {
			folder = filepath.Join(user, "crossover", "cuda")
		}
	}
	if folder == "off" {
		folder = ""
	}
	return cache{folder: folder, used: map[string]bool{}}
}

// key names the entry of a text. It depends on everything that the machine code depends on.
func (c *cache) key(by *compiler, text string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q", by.version, by.options(), Prelude, text)
	return hex.EncodeToString(sum.Sum(nil))
}

func (c *cache) path(key string) string { return filepath.Join(c.folder, key+".cubin") }

// read returns an entry, or nil if there is none or it is damaged. An entry is the SHA-256 of the machine code,
// followed by the machine code.
func (c *cache) read(key string) []byte {
	if c.folder == "" {
		return nil
	}
	entry, err := os.ReadFile(c.path(key))
	if err != nil || len(entry) <= sha256.Size {
		return nil
	}
	sum, code := entry[:sha256.Size], entry[sha256.Size:]
	if want := sha256.Sum256(code); !bytes.Equal(sum, want[:]) {
		return nil
	}
	c.use(key)
	return code
}

// write adds an entry. Another process sees either the whole entry or none.
func (c *cache) write(key string, code []byte) {
	if c.folder == "" || os.MkdirAll(c.folder, 0o755) != nil {
		return
	}
	file, err := os.CreateTemp(c.folder, "new-*")
	if err != nil {
		return
	}
	sum := sha256.Sum256(code)
	_, err = file.Write(append(sum[:], code...))
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), c.path(key))
	}
	if err != nil {
		os.Remove(file.Name())
		return
	}
	c.use(key)
}

func (c *cache) use(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[key] = true
}

// forget removes the entries that this process used.
func (c *cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.used {
		os.Remove(c.path(key))
	}
	clear(c.used)
}
