package txnfilter

import (
	"cmp"
	"slices"
)

// interval is the sequences from From through To, both included: there is no
// sequence after the highest to name an open end with.
type interval struct {
	From uint64 `json:"from,string"`
	To   uint64 `json:"to,string"`
}

// contains reports whether sequence lies in one of list, which is in order.
func contains(list []interval, sequence uint64) bool {
	i := reaching(list, sequence)
	return i < len(list) && list[i].From <= sequence
}

// insert adds sequence, which lies in none of list, and joins the intervals
// that then touch.
func insert(list []interval, sequence uint64) []interval {
	i := reaching(list, sequence)
	// The neighbours are compared without leaving the numbers: below the one
	// above there is a number, and above the one below.
	touchesBelow := i > 0 && list[i-1].To+1 == sequence
	touchesAbove := i < len(list) && list[i].From-1 == sequence
	switch {
	case touchesBelow && touchesAbove:
		list[i-1].To = list[i].To
		return slices.Delete(list, i, i+1)
	case touchesBelow:
		list[i-1].To = sequence
	case touchesAbove:
		list[i].From = sequence
	default:
		return slices.Insert(list, i, interval{sequence, sequence})
	}
	return list
}

// above is what of list lies above mark.
func above(list []interval, mark uint64) []interval {
	i := reaching(list, mark)
	if i < len(list) && list[i].To == mark {
		i++
	}
	list = slices.Delete(list, 0, i)
	if len(list) > 0 && list[0].From <= mark {
		list[0].From = mark + 1
	}
	return list
}

// reaching is the index of the first interval that ends at or above sequence.
func reaching(list []interval, sequence uint64) int {
	i, _ := slices.BinarySearchFunc(list, sequence, func(v interval, sequence uint64) int {
		return cmp.Compare(v.To, sequence)
	})
	return i
}
