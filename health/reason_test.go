package health

import "errors"

// isReason compares like errors.Is, and nil with nil only.
func isReason(err, want error) bool {
	if want == nil {
		return err == nil
	}
	return errors.Is(err, want)
}
