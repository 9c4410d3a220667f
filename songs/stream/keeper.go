package stream

import (
	"time"

	"crossover/songs"
)

// keeper prepares and releases the players of routes on a GPU, outside of the audio goroutine, which never waits for it.
type keeper struct {
	machine
	callback *callback
	guard    *Guard
	streams  int
	retired  []retired
	over     chan struct{} // is closed when the blocks are over; nil where nobody waits for that

	failing  time.Duration // when the GPU began to fail; 0 while it works
	reopened int           // how often its device was opened anew
}

// A device that has failed for so long is lost for good, and is opened anew. The next time it takes twice as long, because what
// was lost twice will be lost again. What others hold of a lost device does not come back before they close it, so a run opens few.
const (
	lostForGood  = 10 * time.Second
	mostReopened = 5
)

// reopen opens the devices anew if the GPU has failed for long.
func (k *keeper) reopen(now time.Duration) {
	switch {
	case k.guard.Away()&Lost == 0:
		k.failing = 0
	case k.failing == 0:
		k.failing = now
	case k.reopened < mostReopened && now-k.failing >= lostForGood<<k.reopened:
		for _, g := range k.backends.GPUs {
			_ = g.Reopen() // where a runtime does not allow it, the next probe fails
		}
		k.reopened++
		k.failing = now
	}
}

// retired is a player that no slot has any more. The audio goroutine may still use it.
type retired struct {
	*player
	since uint64 // blocks that were over
}

// step looks at the machine once, and opens a lost GPU anew. It gives back what routes on the GPU hold while the GPU is lost or
// memory is short, and prepares them again when all causes are over.
func (k *keeper) step() {
	now := k.callback.clock.now() - k.callback.start
	k.guard.look(now, k.probe, func() (time.Duration, error) { return k.time(k.callback.spare.Entrant) })
	if k.isOver() { // a probe may have taken so long that nobody waits for it
		return
	}
	k.reopen(now)
	away := k.guard.Away()
	for _, s := range k.callback.slots {
		p := s.player.Load()
		switch {
		case !s.OnGPU:
		case p != nil && away&(Lost|Memory) != 0:
			s.player.Store(nil)
			k.retired = append(k.retired, retired{p, k.callback.done.Load()})
		case p == nil && away == 0:
			next, err := k.player(s.Entrant, k.streams)
			if err == nil && k.isOver() {
				next.close()
				return
			}
			if err != nil {
				if k.ended() == nil {
					k.guard.failed()
				}
				return
			}
			next.help(k.callback.clock, k.guard.failed)
			s.player.Store(next)
		}
	}
	k.release()
}

// release closes retired players that the audio goroutine cannot have any more. It may have read the slot just before the player
// was retired. Two blocks later it has either taken the player, and then using says so, or left it. A player whose call does not
// return is left until it does, because closing it would wait. While memory is short, what the players held is asked for, because
// plans that are closed leave their memory to other plans.
func (k *keeper) release() {
	before := len(k.retired)
	kept := k.retired[:0]
	for _, r := range k.retired {
		if k.callback.done.Load() < r.since+2 || k.callback.using.Load() == r.player || !r.free() {
			kept = append(kept, r)
			continue
		}
		r.close()
	}
	k.retired = kept
	if len(kept) < before && k.guard.Away()&Memory != 0 {
		k.guard.askForMemory()
	}
}

// isOver reports whether the blocks are over.
func (k *keeper) isOver() bool {
	select {
	case <-k.over:
		return true
	default:
		return false
	}
}

// probe computes a callback on the GPU, and returns what it took. What it finds out when the blocks are over says nothing of them.
func (k *keeper) probe() (took time.Duration, err error) {
	for _, s := range k.callback.slots {
		if s.OnGPU {
			took, err = k.time(s.Entrant)
			break
		}
	}
	if k.isOver() {
		return 0, errEnded
	}
	return took, err
}

// time returns what a callback by a route takes, on a player of its own. It does as a stream does, because a call after a pause may
// take several times as long as one after another: it pauses, computes all streams, and takes the median of as many as the guard
// judges a stream by, or of fewer if these take more than a second. Then the last one may have computed a part of the streams only.
func (k *keeper) time(r songs.Entrant) (time.Duration, error) {
	p, err := k.player(r, 1)
	if err != nil {
		return 0, err
	}
	defer p.close()
	k.source.Fill(p.inputs, 0)
	c := k.callback
	var took []time.Duration
	for from := c.clock.now(); len(took) == 0 || len(took) < busyCalls && c.clock.now()-from < betweenProbes; {
		if k.isOver() {
			return 0, errEnded
		}
		if !c.fast {
			c.clock.until(c.clock.now() + min(c.due(1)-c.due(0), longestPause))
		}
		begin, computed := c.clock.now(), 0 // streams
		for computed < k.streams && (computed == 0 || c.clock.now()-from < betweenProbes && !k.isOver()) {
			if err := p.pipelines[0].Run(p.inputs...); err != nil {
				return 0, err
			}
			computed++
		}
		took = append(took, (c.clock.now()-begin)*time.Duration(k.streams)/time.Duration(computed))
	}
	return median(took), nil
}

// longestPause is the longest pause of a probe before a callback. With longer ones, eight callbacks would take too long.
const longestPause = 10 * time.Millisecond
