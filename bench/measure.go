package main

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"
)

// turns is how often a measure is taken; its median counts. With an odd number
// the median is a measure. Tests, which look at no time, take one.
var turns = 5

// sides are the two that a benchmark compares.
type sides struct{ ours, theirs func() error }

// compare takes the times of two sides in turns, so that what else the machine
// does falls on both, and returns the median of each.
func compare(n int, s sides) (ours, theirs time.Duration, err error) {
	var a, b []time.Duration
	for i := range n {
		// Who goes first changes, since the first finds caches as others left
		// them.
		order := []func() error{s.ours, s.theirs}
		times := []*[]time.Duration{&a, &b}
		if i%2 == 1 {
			slices.Reverse(order)
			slices.Reverse(times)
		}
		for side, act := range order {
			took, err := timed(act)
			if err != nil {
				return 0, 0, err
			}
			*times[side] = append(*times[side], took)
		}
	}
	return median(a), median(b), nil
}

// timed is how long act takes, from a heap without garbage.
func timed(act func() error) (time.Duration, error) {
	runtime.GC()
	began := time.Now()
	err := act()
	return time.Since(began), err
}

// median is the middle of list, which is not empty.
func median[T time.Duration | int64 | float64](list []T) T {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// heapPeak is how many bytes act has in use on the heap at most, beyond what was
// there before. Garbage does not count: how much of it waits depends on what
// else is on the heap, as the store is here.
func heapPeak(act func() error) (int64, error) {
	before := heapInUse()
	peak := before
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				peak = max(peak, heapInUse())
			}
		}
	}()
	err := act()
	close(stop)
	<-stopped
	return max(peak-before, 1), err
}

// heapInUse collects garbage, and is what it finds in use.
func heapInUse() int64 {
	runtime.GC()
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// share is a/b with two digits behind the point, as text.
func share(a, b float64) string { return fmt.Sprintf("%.2f", a/b) }

// most is the greatest of list, which is not empty.
func most(list []int64) int64 { return slices.Max(list) }
