package wire

import (
	"fmt"
	"net/http"
)

// BodyLength returns the length of r's body in bytes, -1 if it is unknown. It reads nothing.
func BodyLength(r *Request) (int64, error) {
	switch {
	case r.Small != nil:
		n := int64(len(r.Small))
		if r.ContentLength > 0 && r.ContentLength != n {
			return 0, LengthError(r.ContentLength, n)
		}
		return n, nil
	case r.Body == nil && r.ContentLength != 0:
		return 0, &RequestError{fmt.Errorf("http: Request.ContentLength=%d with nil Body", r.ContentLength)}
	case r.Body == nil || r.Body == http.NoBody:
		return 0, nil
	case r.ContentLength > 0:
		return r.ContentLength, nil
	}
	return -1, nil
}
