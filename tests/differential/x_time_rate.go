// Repeats on golang.org/x/time/rate what gcra_steps prints. Each wait must be the same to the
// nanosecond, and none where it is none. x/time/rate cuts a wait to whole nanoseconds, so that one
// of a single nanosecond may be none there; no other decision may differ.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	var limiter *rate.Limiter
	var header string
	var schedules, steps, refused, rounded int64
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		word := strings.Fields(in.Text())
		switch word[0] {
		case "schedule":
			header = in.Text()
			schedules++
			limiter = rate.NewLimiter(rate.Every(time.Duration(number(word[1]))), int(number(word[2])))
			continue
		case "end":
			if schedules != number(word[1]) || schedules < 100_000 || refused*10 < steps {
				fmt.Printf("too little: %d schedules, %d of %d steps waited\n", schedules, refused, steps)
				os.Exit(1)
			}
			fmt.Printf("%d schedules, %d steps, %d of them refused: all as x/time/rate (%d waits of 1 ns are none there)\n",
				schedules, steps, refused, rounded)
			return
		}
		steps++
		now := time.Unix(0, number(word[0]))
		theirs := limiter.ReserveN(now, int(number(word[1])))
		never := word[2] == "never"
		differ := theirs.OK() == never
		if !never && !differ {
			ours, wait := number(word[2]), int64(theirs.DelayFrom(now))
			if ours > 0 {
				refused++
				theirs.CancelAt(now)
			}
			if ours == 1 && wait == 0 {
				rounded++
			} else {
				differ = ours-wait > 1 || wait-ours > 1 || (ours > 0) != (wait > 0)
			}
		}
		if differ {
			fmt.Printf("%s: at %s x/time/rate waits %v\n", header, in.Text(), theirs.DelayFrom(now))
			os.Exit(1)
		}
	}
	fmt.Println("no end: the schedules were cut short")
	os.Exit(1)
}
