// Package keyshared shares the messages of a topic among workers, so that the
// messages of one key are handled in order and by one worker at a time.
//
// Keys fall into 65535 slots, as Pulsar hashes them, and each slot belongs to
// one worker (see Strategy). When a worker joins or leaves, slots change hands.
// A slot whose messages are unfinished elsewhere waits until they are finished;
// every other slot goes on at once. That is all that ever waits: not the
// newcomer, and no key that did not move.
//
//	           offer                 take                  answer
//	messages ---------> [ window ] ---------> [ worker ] ---------> finished
//	                      ^    |                  |
//	                      |    | frontier         | retry: back, after a while
//	                      |    v                  | reject, or once too often:
//	                      |  durable              v
//	                      +---------------- [ dead letter ] ---> finished
//
// Dispatcher decides all of this, and is pure: no goroutine, no clock, no
// store. Group is the thin shell around it that reads, waits and calls
// handlers.
//
// The window holds what was offered and is not finished, up to a bound. What
// lies before its first message is finished, so a group that goes on from there
// loses nothing; see Frontier.
package keyshared
