package load

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"sync"
)

// inbox passes what a connection receives to the requests that wait for it: over stdio, and over HTTP+SSE, responses
// arrive in any order.
type inbox struct {
	// refusing are the answers to requests of the server that are being sent.
	refusing refusals
	// stray is called with each response that nobody waits for.
	stray func(raw []byte)
	mu    sync.Mutex
	// waiting has what waits for a response, by its id; nil where the response does not matter any more.
	waiting map[string]chan []byte
	// ended is closed when nothing more arrives, for the reason endErr.
	ended  chan struct{}
	endErr error
}

// endedError says that a connection has ended: nothing more can be sent by it.
type endedError string

func (e endedError) Error() string { return string(e) }

func newInbox(stray func(raw []byte)) *inbox {
	return &inbox{
		refusing: newRefusals(), stray: stray, waiting: map[string]chan []byte{}, ended: make(chan struct{}),
	}
}

// expect has the response with an id kept for its request.
func (b *inbox) expect(id int64) chan []byte {
	waits := make(chan []byte, 1)
	b.set(id, waits)
	return waits
}

// ignore has the response with an id thrown away, whether or not it arrives.
func (b *inbox) ignore(id int64) { b.set(id, nil) }

func (b *inbox) set(id int64, waits chan []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[strconv.FormatInt(id, 10)] = waits
}

// await waits for a response, unless the request has failed before.
func (b *inbox) await(ctx context.Context, id int64, waits <-chan []byte, failed <-chan error) ([]byte, error) {
	select {
	case raw := <-waits:
		return raw, nil
	case err := <-failed:
		b.ignore(id)
		return nil, err
	case <-b.ended:
		return nil, b.endErr
	case <-ctx.Done():
		b.ignore(id)
		return nil, ctx.Err()
	}
}

// receive passes a message on, which the inbox does not keep. It returns the refusal of a request of the server, and
// nil for any other message.
func (b *inbox) receive(raw []byte) (refusal []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
	}
	if json.Unmarshal(raw, &m) != nil || m.ID == nil {
		return nil
	}
	if m.Method != nil {
		return refusalOf(raw)
	}
	b.mu.Lock()
	waits, known := b.waiting[string(m.ID)]
	delete(b.waiting, string(m.ID))
	b.mu.Unlock()
	switch {
	case !known:
		b.stray(bytes.Clone(raw))
	case waits != nil:
		waits <- bytes.Clone(raw)
	}
	return nil
}

// maxRefusals is how many refusals a connection sends at a time; a server that asks for more gets no answer.
const maxRefusals = 64

// refusals has an entry for each refusal that a connection is sending.
type refusals chan struct{}

func newRefusals() refusals { return make(refusals, maxRefusals) }

// start sends a refusal in the background, unless too many are being sent.
func (r refusals) start(send func()) {
	select {
	case r <- struct{}{}:
		go func() {
			defer func() { <-r }()
			send()
		}()
	default:
	}
}

// refusalOf answers a request of the server: ping with a result, any other one with an error. It is nil for any other
// message.
func refusalOf(raw []byte) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(raw, &m) != nil || m.ID == nil || m.Method == "" {
		return nil
	}
	reply := append([]byte(`{"jsonrpc":"2.0","id":`), m.ID...)
	if m.Method == "ping" {
		return append(reply, `,"result":{}}`...)
	}
	return append(reply, `,"error":{"code":-32601,"message":"Method not found"}}`...)
}

// end says that nothing more arrives.
func (b *inbox) end(why error) {
	b.endErr = why
	close(b.ended)
}
