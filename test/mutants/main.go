// Command mutants plants one small bug at a time where a bug costs money or lets
// somebody in, and runs the tests that must find it:
//
//	go -C test run ./mutants                  # all, two at a time
//	go -C test run ./mutants -only paywall    # those whose file contains "paywall"
//
// A mutant that no test finds is printed as SURVIVED, and the exit status is 1. The
// source files are not changed: Go files are replaced by the compiler's overlay,
// Solidity files in a copy of the contracts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	only := flag.String("only", "", "plant only the mutants whose file contains `text`")
	jobs := flag.Int("j", 2, "number of mutants to test at the same time")
	root := flag.String("root", "..", "the repository's root, from the working `folder`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := errors.Join(os.Chdir(*root), run(ctx, *only, *jobs)); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tests the chosen mutants and returns an error if one survives or cannot be
// planted.
func run(ctx context.Context, only string, jobs int) error {
	var chosen []mutant
	for _, m := range all() {
		if strings.Contains(m.file, only) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no mutant's file contains %q", only)
	}
	var (
		wg                 sync.WaitGroup
		mu                 sync.Mutex
		survived, unusable int
		free               = make(chan struct{}, jobs)
	)
	for _, m := range chosen {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			began := time.Now()
			err := m.test(ctx)
			mu.Lock()
			defer mu.Unlock()
			verdict := "killed  "
			switch {
			case errors.Is(err, errSurvived):
				verdict, survived = "SURVIVED", survived+1
			case err != nil:
				verdict, unusable = "UNUSABLE", unusable+1
			}
			fmt.Printf("%s  %4.0fs  %s: %s\n", verdict, time.Since(began).Seconds(), m.file, m.bug)
			if err != nil && !errors.Is(err, errSurvived) {
				fmt.Println(err)
			}
		})
		if ctx.Err() != nil {
			break
		}
	}
	wg.Wait()
	fmt.Printf("%d mutants: %d killed, %d survived, %d unusable\n", len(chosen), len(chosen)-survived-unusable, survived, unusable)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case survived+unusable > 0:
		return errors.New("not every mutant was killed")
	}
	return nil
}
