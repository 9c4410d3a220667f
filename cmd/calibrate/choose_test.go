package main

import (
	"strings"
	"testing"

	"crossover/cmd/internal/command"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/kernels/softmax"
)

func TestChoose(t *testing.T) {
	f := newFolders(t)
	succeed(t, twoCases(1), f.args()...)
	before := tree(t, f.root)
	for size, want := range map[string]string{"64": "a", "1000000": "b"} {
		stdout, stderr, code := calibrateOn(t, twoCases(1), "-o", f.file, "--choose", "fft/batch=1", size)
		chosen, why, _ := strings.Cut(stdout, "\n")
		if code != 0 || chosen != want || !strings.Contains(why, "fft/batch=1 at "+size) || stderr != "" {
			t.Errorf("%s: exit %d, %q, %q", size, code, stdout, stderr)
		}
	}
	for _, wrong := range [][]string{
		{"--choose", "fft/batch=1"}, {"--choose", "fft/batch=1", "0"}, {"--choose", "fft/batch=1", "4k"}, {"--choose", "fft/batch=1", "100000000000000"}, {"--choose", "", "4"},
		{"--choose", "fft/batch=1", "4", "5"}, {"--choose", "no-such", "4"}, {"--choose", "fft/batch=1", "4", "--budget", "2s"},
		{"--choose", "fft/batch=1", "4", "--pipelines"},
	} {
		if _, stderr, code := calibrateOn(t, twoCases(1), append(wrong, "-o", f.file)...); code != command.ExitUsage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %q", wrong, code, stderr)
		}
	}
	sameTree(t, before, tree(t, f.root))
}

// Besides the cases of the machine, other lines and whole shapes have a choice.
func TestChooseAtAnyShape(t *testing.T) {
	f := newFolders(t)
	succeed(t, withSoftmax(1), f.args("--budget", "1s")...)
	for _, c := range []struct {
		arguments []string
		want, why string
	}{
		{[]string{"softmax/rows=3,columns=100"}, "a", "softmax at rows=3 columns=100"},
		{[]string{"softmax/columns=2000,rows=700"}, "b", "softmax at rows=700 columns=2000"},
		{[]string{"softmax/columns=2000", "700"}, "b", "softmax/columns=2000 at 700"},
	} {
		arguments := append([]string{"-o", f.file, "--choose"}, c.arguments...)
		stdout, stderr, code := calibrateOn(t, withSoftmax(1), arguments...)
		chosen, why, _ := strings.Cut(stdout, "\n")
		if code != 0 || chosen != c.want || !strings.Contains(why, c.why) || stderr != "" {
			t.Errorf("%q: exit %d, %q, %q", c.arguments, code, stdout, stderr)
		}
	}
	for _, wrong := range [][]string{
		{"softmax/columns=2000"}, {"softmax/rows=0,columns=5"}, {"softmax/rows=3,columns=100", "4"}, {"softmax/depth=5", "4"}, {"matmul/m=5,k=5,n=5"},
	} {
		arguments := append([]string{"-o", f.file, "--choose"}, wrong...)
		if _, stderr, code := calibrateOn(t, withSoftmax(1), arguments...); code != command.ExitUsage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %q", wrong, code, stderr)
		}
	}
}

// What is said of a shape of which nothing is known is what a typed plan says, whether the shape or a size of a line is asked for.
func TestChooseWhereNothingIsKnown(t *testing.T) {
	for name, arguments := range map[string][]string{
		"another operation": {"--ops", "^sum$"}, "another shape": {"--shape", "softmax/rows=70,columns=200"},
	} {
		f := newFolders(t)
		succeed(t, withSoftmax(1), f.args(arguments...)...)
		d, err := dispatch.Load(f.file)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := softmax.New(d, softmax.Params{Columns: 100})
		if err != nil {
			t.Fatal(err)
		}
		want := "softmax at rows=3 columns=100: cpu, " + plan.Explain(3).Reason + "\n"
		plan.Close()
		var next []string // what to do, word by word
		for _, asked := range [][]string{{"softmax/rows=3,columns=100"}, {"softmax/columns=100", "3"}, {"softmax/rows=3", "100"}} {
			stdout, stderr, code := calibrateOn(t, withSoftmax(1), append([]string{"-o", f.file, "--choose"}, asked...)...)
			rest, said := strings.CutPrefix(stdout, "cpu\n"+want)
			next = strings.Fields(rest)
			if code != 0 || !said || len(next) != 7 || !strings.HasPrefix(rest, "calibrate --shape softmax/") || next[4] != f.file {
				t.Fatalf("%s: %q: exit %d, %s%swant %s", name, asked, code, stderr, stdout, want)
			}
		}
		// What the last line says to do helps.
		succeed(t, withSoftmax(1), append(next[1:5:5], "--data", f.data, "--plots", f.plots)...)
		if stdout, _, _ := calibrateOn(t, withSoftmax(1), "-o", f.file, "--choose", next[2]); stdout[:2] != "a\n" || strings.Count(stdout, "\n") != 2 {
			t.Errorf("%s: after %q, --choose prints %s", name, next, stdout)
		}
	}
}

// Where the file has lines of an operation alone, a line through a shape decides, as it does for a plan.
func TestChooseOnALineAlone(t *testing.T) {
	f := newFolders(t)
	succeed(t, withSoftmax(1), f.args("--ops", "softmax", "--sizes", "1:4096")...)
	for _, asked := range [][]string{{"softmax/rows=3,columns=1024"}, {"softmax/columns=1024", "3"}, {"softmax/rows=3", "1024"}} {
		stdout, stderr, code := calibrateOn(t, withSoftmax(1), append([]string{"-o", f.file, "--choose"}, asked...)...)
		if code != 0 || !strings.HasPrefix(stdout, "a\nsoftmax/columns=1024 at 3 rows: a, ") {
			t.Errorf("%q: exit %d, %s%s", asked, code, stderr, stdout)
		}
	}
}

// A shape of an operation with one axis, as a record has it, is a size of its case. With --quiet a script gets the name alone.
func TestChooseForAScript(t *testing.T) {
	f := newFolders(t)
	succeed(t, withSoftmax(1), f.args("--budget", "1s")...)
	ask := func(arguments ...string) string {
		stdout, stderr, code := calibrateOn(t, withSoftmax(1), append([]string{"-o", f.file, "--choose"}, arguments...)...)
		if code != 0 || stderr != "" {
			t.Errorf("%q: exit %d, %q", arguments, code, stderr)
		}
		return stdout
	}
	for _, c := range [][2][]string{{{"scale", "7"}, {"scale/n=7"}}, {{"sum", "100000"}, {"sum/n=100000"}}} {
		size, shape := ask(c[0]...), ask(c[1]...)
		if size != shape || strings.Count(size, "\n") != 2 { // nothing is said of scale, which this machine does not have

			t.Errorf("%q prints\n%s%q prints\n%s", c[0], size, c[1], shape)
		}
	}
	for _, c := range [][]string{{"scale", "7"}, {"sum/n=100000"}, {"softmax/rows=3,columns=100"}, {"fft/batch=1", "64"}} {
		whole := ask(c...)
		if name := ask(append(c, "-q")...); name != strings.SplitAfter(whole, "\n")[0] || len(name) < 2 {
			t.Errorf("%q: a script gets %q of %q", c, name, whole)
		}
	}
}

// A message says what is wrong with a case, a shape or a size, and what to do.
func TestChooseSaysWhatIsWrong(t *testing.T) {
	f := newFolders(t)
	succeed(t, withSoftmax(1), f.args("--budget", "1s")...)
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"fft/batch=1", "-5"}, `"fft/batch=1" -5: want a whole number from 1 to 2147483647`},
		{[]string{"fft/batch=1", "-x"}, "unknown shorthand flag: 'x' in -x"},
		{[]string{"stft/n_fft=1023,hop=256", "10"}, `"stft/n_fft=1023,hop=256": stft: NFFT is 1023: want an even number`},
		{[]string{"stft/n_fft=1023,hop=256,n=4096"}, "stft: NFFT is 1023: want an even number"},
		{[]string{"stft/n_fft=1023,hop=256,n=4096", "7"}, "stft: NFFT is 1023: want an even number"},
		{[]string{"softmax/rows=3,columns=100", "4"}, `"softmax/rows=3,columns=100" 4: the shape has all its sizes (leave 4 out)`},
		{[]string{"softmax/columns=1024,shared", "64"}, `shared memory takes a GPU that computes the operation, and none does here (leave "shared" out)`},
		{[]string{"softmax/columns=1000,resident", "64"}, `resident memory takes a GPU that computes the operation, and none does here (leave "resident" out)`},
		{[]string{"softmax/rows=3,columns=100,resident"}, `resident memory takes a GPU that computes the operation, and none does here (leave "resident" out)`},
		{[]string{"scale/shared", "64"}, "shared memory takes a GPU"},
		{[]string{"attention/self,shared", "64"}, "shared memory takes a GPU"},
		{[]string{"softmax/rows=3,columns=100,shared"}, "shared memory takes a GPU"},
		{[]string{"softmax/columns=1024,shared"}, "want a value of "},
		{[]string{"attention/self"}, "want a value of "},
		{[]string{"fft/n=441,batch=64,caller"}, `"caller" is not a value of an axis`},
		{[]string{"fftt/batch=1"}, `"fftt" is not an operation (did you mean fft, ifft?)`},
		{[]string{"fft/batch=1,", "64"}, `"" is not a value of an axis`},
	} {
		arguments := append([]string{"-o", f.file, "--choose"}, c.arguments...)
		_, stderr, code := calibrateOn(t, withSoftmax(1), arguments...)
		if code != command.ExitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, %q, want %q", c.arguments, code, stderr, c.want)
		}
	}
}

// Whatever is wrong with the axes, the message has those of the operation that was asked for, and of no other.
func TestChooseNamesTheAxesOfItsOperation(t *testing.T) {
	machine := twoCases(1)
	for _, c := range catalogue.Cases(&kernels.Backends{}) {
		axes := catalogue.AxesOf(c.Name)
		var names []string
		for _, a := range axes {
			names = append(names, a.Name)
		}
		list := strings.Join(names, ", ")
		all := c.Operation + "/" + strings.Join(names, "=64,") + "=64"
		first, _, _ := strings.Cut(all, ",")
		wrong := [][]string{
			{c.Name}, {c.Name, "4", "5"}, // no size, and one too many
			{c.Operation + "/bogus=3"}, {c.Operation + "/bogus=3", "4"}, {first + ",bogus=3"}, {first + ",bogus=3", "4"},
			{c.Operation + "/" + names[0]}, {c.Operation + "/" + names[0] + "=many", "4"}, {all + ",bogus=3"},
		}
		if len(names) > 1 {
			wrong = append(wrong, []string{c.Operation}, []string{c.Operation, "4"})
		}
		if len(names) > 2 {
			wrong = append(wrong, []string{first}, []string{first, "4"})
		}
		for _, arguments := range wrong {
			_, stderr, code := calibrateOn(t, machine, append([]string{"--choose"}, arguments...)...)
			if code != command.ExitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, list) {
				t.Errorf("%q: exit %d, %q, want the axes %s", arguments, code, stderr, list)
			}
			for _, other := range []string{"n_fft", "batch", "columns"} {
				if !strings.Contains(c.Name+","+list, other) && strings.Contains(stderr, other+"=") {
					t.Errorf("%q: %q names %s, which is an axis of another operation", arguments, stderr, other)
				}
			}
		}
	}
}
