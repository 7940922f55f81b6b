package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
)

// The actions below find elements by CSS in the page itself. The ones of chromedp look them up
// in its copy of the page, which under load may stay empty after a navigation, and then wait
// forever.

// find is the start of each script: e is the element, which has loaded and has a size.
const find = `(() => {
	const e = document.readyState === "complete" ? document.querySelector(%s) : null;
	const shown = e !== null && e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
	%s
})()`

// patience is how long an action waits for the page.
const patience = time.Minute

// until runs the script in the page until it returns a value that is not null.
func until[T any](ctx context.Context, target *chromedp.Target, selector, script string) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	quoted, err := json.Marshal(selector)
	if err != nil {
		panic(err)
	}
	for {
		found, err := chromedp.Evaluate[*T](fmt.Sprintf(find, quoted, script))(ctx, target)
		if err == nil && found != nil {
			return *found, nil
		}
		select {
		case <-ctx.Done():
			var none T
			return none, fmt.Errorf("%s: %w", selector, errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func action(selector, script string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := until[bool](ctx, target, selector, script)
		return err
	})
}

// visible waits until the page shows the element.
func visible(selector string) chromedp.Action[chromedp.Void] {
	return action(selector, `return shown ? true : null;`)
}

// contains waits until the element shows the text.
func contains(selector, part string) chromedp.Action[chromedp.Void] {
	quoted, err := json.Marshal(part)
	if err != nil {
		panic(err)
	}
	return action(selector, `return shown && e.innerText.includes(`+string(quoted)+`) ? true : null;`)
}

// hidden waits until the page has loaded and does not show the element.
func hidden(selector string) chromedp.Action[chromedp.Void] {
	return action(selector, `return document.readyState === "complete" && !shown ? true : null;`)
}

// fill sets the value of a field.
func fill(selector, value string) chromedp.Action[chromedp.Void] {
	quoted, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return action(selector, strings.ReplaceAll(`if (!shown) return null;
		e.value = VALUE;
		e.dispatchEvent(new Event("input", {bubbles: true}));
		e.dispatchEvent(new Event("change", {bubbles: true}));
		return true;`, "VALUE", string(quoted)))
}

// click presses the mouse on the middle of the element's first line, once nothing covers it.
func click(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		at, err := until[[]float64](ctx, target, selector, `if (!shown) return null;
			e.scrollIntoView({block: "center", behavior: "instant"});
			const r = e.getClientRects()[0], x = r.x + r.width / 2, y = r.y + r.height / 2;
			return e.contains(document.elementFromPoint(x, y)) ? [x, y] : null;`)
		if err != nil {
			return err
		}
		_, err = chromedp.MouseClickXY(at[0], at[1])(ctx, target)
		return err
	})
}

// shownText returns the text of the element as the page shows it.
func shownText(selector string) chromedp.Action[string] {
	return func(ctx context.Context, target *chromedp.Target) (string, error) {
		return until[string](ctx, target, selector, `return shown ? e.innerText : null;`)
	}
}
