//go:build !race

package segments

// raceDetector tells whether the race detector is at work.
const raceDetector = false
