package emulator

// Option changes the emulated device.
type Option func(*settings)

type settings struct {
	unified     bool
	memoryLimit int64
	threadgroup int // bytes that a kernel may have altogether
	loseAfter   int // submissions; negative for never
	nan         bool
	sticky      bool
}

// Unified says whether device and host share memory, as on Apple's GPUs. Without this option they do not, and inputs
// and outputs are copied.
func Unified(unified bool) Option { return func(s *settings) { s.unified = unified } }

// MemoryLimit is how many bytes the device has. Beyond them an allocation fails, wrapping gpu.ErrOutOfMemory.
func MemoryLimit(bytes int64) Option { return func(s *settings) { s.memoryLimit = bytes } }

// ThreadgroupMemory is how many bytes a threadgroup has for arrays and an argument together. Without this option an argument gets
// what the arrays leave of 32 KiB, as on Apple's GPUs. Arrays never have more than that.
func ThreadgroupMemory(bytes int) Option { return func(s *settings) { s.threadgroup = bytes } }

// LoseAfter loses the device at the wait for its submission number n, counted from 0. That wait and everything after it
// fail, wrapping gpu.ErrLost. A plan's constants count as submissions where memory is not unified.
func LoseAfter(n int) Option { return func(s *settings) { s.loseAfter = n } }

// ReturnNaN makes every kernel leave a NaN in the last four bytes of each buffer that it may write.
func ReturnNaN() Option { return func(s *settings) { s.nan = true } }

// LoseByFaults loses the device at the first *[Fault], as CUDA does when a kernel uses memory that is not its own. The error wraps
// gpu.ErrLost, too.
func LoseByFaults() Option { return func(s *settings) { s.sticky = true } }
