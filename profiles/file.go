package profiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
)

// schema is the version of the file.
const schema = "1.0"

// Write writes a profile as JSON, which Load reads.
func (p *Profile) Write(w io.Writer) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// cause returns the cause of an os error, without the path.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Load reads a profile. It fails if the file is no profile, is of a newer version, or holds times that cannot be.
func Load(path string) (*Profile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("profiles: %s: %w", path, cause(err))
	}
	p, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("profiles: %s: %w (want a file that --json has written)", path, err)
	}
	return p, nil
}

func parse(text []byte) (*Profile, error) {
	p := &Profile{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("not a profile: %w", err)
	}
	if major, _, _ := strings.Cut(p.Schema, "."); major != "1" {
		return nil, fmt.Errorf("schema_version is %.20q (want %s)", p.Schema, schema)
	}
	return p, p.check()
}

// check returns an error that says which numbers cannot be.
func (p *Profile) check() error {
	n := len(p.Calls)
	if n == 0 {
		return errors.New("there are no calls")
	}
	lists := map[string][]float64{"call_seconds": p.Calls, "between_seconds": p.Between}
	for i := range p.Stages {
		st := &p.Stages[i]
		lists[fmt.Sprintf("wall_seconds of %.40q", st.Name)] = st.Wall
		if len(st.Device) != 0 && len(st.Device) != n {
			return fmt.Errorf("device of %.40q has %d entries for %d calls", st.Name, len(st.Device), n)
		}
		for k := range st.Device {
			if err := st.Device[k].check(st.Name); err != nil {
				return err
			}
		}
	}
	for name, list := range lists {
		if len(list) != n {
			return fmt.Errorf("%s has %d entries for %d calls", name, len(list), n)
		}
		for _, v := range list {
			if !(v >= 0) || math.IsInf(v, 0) {
				return fmt.Errorf("%s has a time of %g seconds", name, v)
			}
		}
	}
	if !(p.Loading >= 0) || math.IsInf(p.Loading, 0) {
		return fmt.Errorf("loading_seconds is %g", p.Loading)
	}
	for _, v := range p.Calls {
		if v == 0 {
			return errors.New("a call takes no time")
		}
	}
	for i := range p.Roofs {
		for _, c := range p.Roofs[i].Copies {
			if !(c.Bytes > 0) || !(c.Rate > 0) {
				return fmt.Errorf("a copy of %g bytes at %g bytes a second", c.Bytes, c.Rate)
			}
		}
	}
	for i := range p.Median {
		if s := &p.Median[i]; !(s.Begin >= 0) || !(s.End >= s.Begin) {
			return fmt.Errorf("the span %.40q lasts from %g to %g seconds", s.Name, s.Begin, s.End)
		} else if s.Device != nil {
			if err := s.Device.check(s.Name); err != nil {
				return err
			}
		}
	}
	if len(p.Stages) == 0 {
		return errors.New("there are no stages")
	}
	return nil
}

// check returns an error if a time cannot be.
func (d *Device) check(of string) error {
	for _, v := range []float64{d.In, d.Launch, d.Wait, d.Out, d.Span, d.Busy, d.Gaps} {
		if !(v >= 0) {
			return fmt.Errorf("the device of %.40q has a time of %g seconds", of, v)
		}
	}
	return nil
}
