package retry

import "fmt"

// A BudgetError is a field of a Budget that makes no sense.
type BudgetError struct {
	Field  string // "Budget.Share", "Budget.Window", ...
	Reason string // what is wrong, and what would be right
}

// Error names the field and the reason.
func (e *BudgetError) Error() string { return "retry: " + e.Field + ": " + e.Reason }

// Check returns a *BudgetError for the first field, in the order of their declaration, that makes
// no sense, and nil if there is none. A Transport doesn't call it: there the field counts as
// zero. Programs that read a Budget from settings should. It only reads the fields.
func (b *Budget) Check() error {
	wrong := func(field, format string, value any) error {
		return &BudgetError{"Budget." + field, fmt.Sprintf(format, value)}
	}
	const share = "is %v, not a number up to 1e6; zero is the default, negative none"
	switch {
	case badShare(b.Share):
		return wrong("Share", share, b.Share)
	case badShare(b.UnprocessedShare):
		return wrong("UnprocessedShare", share, b.UnprocessedShare)
	case b.Window < 0:
		return wrong("Window", "is negative (%v); zero is the default", b.Window)
	case b.TimeoutCost < 0:
		return wrong("TimeoutCost", "is negative (%d); zero is the default", b.TimeoutCost)
	case badPart(b.Part):
		return wrong("Part", "is %v, not within 0 and 1; zero is the default", b.Part)
	}
	return nil
}
