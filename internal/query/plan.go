package query

import (
	"reflect"

	"github.com/sanelite/sanelite/internal/scan"
	"github.com/sanelite/sanelite/internal/stmtcache"
)

// mostPlans bounds the plans that a statement keeps: the same SQL is hardly scanned into more types than that.
const mostPlans = 4

// planFor returns the plan for reading rows of s into a T, made once per (type, statement).
func planFor[T any](s *stmtcache.Stmt) (*scan.Plan[T], error) {
	for _, p := range s.Plans {
		if plan, ok := p.(*scan.Plan[T]); ok {
			return plan, nil
		}
	}
	plan, err := scan.PlanFor[T](s.Stmt)
	if err != nil {
		return nil, err
	}
	keepPlan(s, plan)
	return plan, nil
}

func keepPlan(s *stmtcache.Stmt, plan any) {
	if len(s.Plans) >= mostPlans {
		s.Plans = s.Plans[1:]
	}
	s.Plans = append(s.Plans, plan)
}

// firstAllocation bounds, in bytes, what is allocated on the strength of the last run alone.
const firstAllocation = 4 << 20

// rowsExpected guesses how many rows the statement will return: as many as last time, and a few more.
func rowsExpected[T any](s *stmtcache.Stmt, row bool) int {
	if !row {
		return 0
	}
	most := firstAllocation / max(1, int(reflect.TypeFor[T]().Size()))
	return min(s.Rows+s.Rows/16+4, most)
}
