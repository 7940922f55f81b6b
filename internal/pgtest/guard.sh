# guard SERVER DATA FOLDER: one server a line of input; at its end, none, and no folder.
server=$1 data=$2 dir=$3 keeper=
exec >>"$dir/log" 2>&1
while read -r _; do
	if [ -n "$keeper" ]; then wait "$keeper"; fi
	rm -f "$dir/pid"
	( # keeps the server, so that one that ended is gone at once
		"$server" -D "$data" </dev/null &
		echo $! >"$dir/pid.new" && mv "$dir/pid.new" "$dir/pid"
		wait
	) &
	keeper=$!
	until [ -s "$dir/pid" ]; do sleep 0.01; done
done
if [ -n "$keeper" ]; then
	kill -QUIT "$(cat "$dir/pid")"
	wait "$keeper"
fi
rm -rf "$dir"
