package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// grace is how long a command may take to end by itself after the first signal. Some work cannot be stopped, such as a
// call of a library or reading a pipe without a writer. After the grace the program ends without waiting for that work.
const grace = 800 * time.Millisecond

// Main runs a command with the program's arguments and ends the program with the exit code of the command. The first SIGINT
// or SIGTERM cancels the context of the command. The program then ends within a second, whatever the command is doing, and
// at once at the second signal. In that case it prints the error of Farewell.
func Main(program string, run func(ctx context.Context, stdout, stderr io.Writer, args []string) error) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	err := until(signals, grace, func(ctx context.Context) error {
		return run(ctx, printable{os.Stdout}, printable{os.Stderr}, os.Args[1:])
	})
	if err != nil && isTerminal(os.Stderr) {
		fmt.Fprint(os.Stderr, clearLine) // of a bar that is still drawn
	}
	os.Exit(Exit(os.Stderr, program, err))
}

// until runs a command until the command ends, or until the grace after a signal is over.
func until(signals <-chan os.Signal, grace time.Duration, run func(context.Context) error) error {
	words := &farewell{}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), farewellKey{}, words))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-signals:
		cancel()
	}
	select {
	case err := <-ended:
		return err
	case <-signals:
	case <-time.After(grace):
	}
	return words.error()
}

// Farewell sets the error that the program prints if a signal ends it before the command returns. The error says what is
// saved by then, and what the user can do. Another goroutine calls what at that time.
func Farewell(ctx context.Context, what func() error) {
	if words, ok := ctx.Value(farewellKey{}).(*farewell); ok {
		words.mu.Lock()
		defer words.mu.Unlock()
		words.what = what
	}
}

type farewellKey struct{}

// farewell holds the function of Farewell. If what is nil, the error is just "interrupted".
type farewell struct {
	mu   sync.Mutex
	what func() error
}

func (f *farewell) error() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.what != nil {
		return f.what()
	}
	return Interrupted(errors.New("interrupted"))
}

// Interrupted returns the error of a command that a signal ended.
func Interrupted(err error) error { return &Error{Code: ExitInterrupted, Err: err} }
