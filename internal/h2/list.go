package h2

// A list is a queue of exchanges that any of them can leave. An exchange is in one list at
// most. Guarded by Conn.mu.
type list struct {
	head, tail *Exchange
	n          int
}

// links make an exchange an element of a list.
type links struct {
	next, prev *Exchange
	in         *list
}

func (l *list) push(x *Exchange) {
	x.in, x.prev, x.next = l, l.tail, nil
	if l.tail != nil {
		l.tail.next = x
	} else {
		l.head = x
	}
	l.tail = x
	l.n++
}

func (l *list) pop() *Exchange {
	x := l.head
	if x != nil {
		x.leave()
	}
	return x
}

// leave takes x out of the list it is in, if there is one.
func (x *Exchange) leave() {
	l := x.in
	if l == nil {
		return
	}
	if x.prev != nil {
		x.prev.next = x.next
	} else {
		l.head = x.next
	}
	if x.next != nil {
		x.next.prev = x.prev
	} else {
		l.tail = x.prev
	}
	x.links = links{}
	l.n--
}
