//go:build race

package segments

// raceDetector tells whether the race detector is at work. What runs in one
// goroutine is not its business, and takes ten times as long with it.
const raceDetector = true
