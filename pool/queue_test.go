package pool

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The queue against a plain slice, over random operations.
func TestQueueIsFIFO(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var q queue
	var model []*waiter
	for range 20_000 {
		switch op := r.IntN(5); {
		case op <= 1 || len(model) == 0:
			w := &waiter{}
			q.push(w)
			model = append(model, w)
		case op == 2:
			if got := q.pop(); got != model[0] {
				t.Fatal("pop didn't return the oldest waiter")
			}
			model = model[1:]
		case op == 3:
			i := r.IntN(len(model))
			if got := q.index(model[i]); got != i {
				t.Fatalf("index = %d, want %d", got, i)
			}
			q.remove(model[i])
			model = slices.Delete(model, i, i+1)
		case op == 4:
			w := q.pop()
			q.putBack(w)
		}
		if q.len() != len(model) {
			t.Fatalf("len = %d, want %d", q.len(), len(model))
		}
	}
	for _, want := range model {
		if got := q.pop(); got != want || got.queued {
			t.Fatal("the rest came out in another order")
		}
	}
	if q.pop() != nil || q.head != nil || q.tail != nil {
		t.Fatal("an empty queue isn't empty")
	}
}

func TestQueueUndialled(t *testing.T) {
	var q queue
	if q.undialled() != nil {
		t.Fatal("an empty queue has an undialled waiter")
	}
	var ws [4]waiter
	for i := range ws {
		q.push(&ws[i])
	}
	for i := range ws {
		if got := q.undialled(); got != &ws[i] {
			t.Fatalf("after %d dials the next isn't for waiter %d", i, i)
		}
		ws[i].dialled = true
	}
	if q.undialled() != nil {
		t.Fatal("all are dialled for, and yet one is not")
	}
}

func BenchmarkQueue(b *testing.B) {
	var q queue
	ws := make([]waiter, 64)
	for i := range ws {
		q.push(&ws[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		q.push(q.pop())
	}
}
