package msl

import (
	"os"
	"path/filepath"
	"regexp"
)

var quotedInclude = regexp.MustCompile(`(?m)^#include "(.*)"$`)

// ReadFile returns a text as a compiler reads it from its file, other files in the place of the lines that include them.
func ReadFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	whole := quotedInclude.ReplaceAllStringFunc(string(text), func(line string) string {
		part, partErr := ReadFile(filepath.Join(filepath.Dir(path), quotedInclude.FindStringSubmatch(line)[1]))
		if err == nil {
			err = partErr
		}
		return part
	})
	return whole, err
}
