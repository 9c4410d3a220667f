package host

import (
	"regexp"
	"strings"
)

// Family returns the slug that a chip shares with its siblings, or "" for a chip without a name:
//
//   - for an Apple chip, the generation: M3, M3 Pro, M3 Max and M3 Ultra are apple-m3;
//   - for an Arm core design, the design itself, because many chips share it: arm-neoverse-n1;
//   - for any other chip, the words before the first number: AMD EPYC 7B13 is amd-epyc, Intel Xeon Platinum 8259CL is
//     intel-xeon-platinum, AMD Ryzen 9 5950X is amd-ryzen.
func Family(chip string) string {
	words := strings.Fields(cleanChip(chip))
	if len(words) == 0 {
		return ""
	}
	switch words[0] {
	case "unknown":
		return ""
	case "ARM":
		return slug(strings.Join(words, " "))
	}
	for i, word := range words {
		if !strings.ContainsAny(word, "0123456789") {
			continue
		}
		if words[0] == "Apple" {
			i++
		}
		if i > 0 {
			words = words[:i]
		}
		break
	}
	return slug(strings.Join(words, " "))
}

var (
	trademark = regexp.MustCompile(`(?i)\((r|tm|c)\)`)
	// noise matches words of a brand string that say nothing, or only repeat the number of cores.
	noise = regexp.MustCompile(`(?i)^(cpu|processor|\w+-cores?|\d+(st|nd|rd|th)|gen)$`)
)

// cleanChip removes trademarks, clock rates, numbers of cores and empty words from a processor's brand string.
func cleanChip(brand string) string {
	brand = trademark.ReplaceAllString(brand, " ")
	brand, _, _ = strings.Cut(brand, "@")
	brand, _, _ = strings.Cut(brand, " with ")
	brand = strings.NewReplacer("(", " ", ")", " ", ",", " ", "\x00", " ").Replace(brand)
	var words []string
	for _, word := range strings.Fields(brand) {
		if !noise.MatchString(word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// slug returns the letters and digits of s in lower case. A hyphen replaces each run of other characters in between.
func slug(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		gap = false
		b.WriteRune(r)
	}
	return b.String()
}
