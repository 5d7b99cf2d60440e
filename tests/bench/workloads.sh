# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # names for and of bench/run and lib.sh
# What bench/run has its subjects do. A workload is called with the globals pair and
# address of a subject, notes figures and commands, and returns other than 0 when it
# did not come about. It must say `|| return' after whatever may fail: its caller
# looks at its status, and so the shell does not stop at failures.

workloads=()
declare -A function_of group_of main_figure_of title_of

workload() { # NAME FUNCTION SUBJECTS MAIN-FIGURE TITLE
	workloads+=("$1")
	function_of[$1]=$2 group_of[$1]=$3 main_figure_of[$1]=$4 title_of[$1]=$5
}

define_workloads() {
	workload tcp1 'tcp 1 1' paths gbit_per_s 'TCP, 1 stream'
	workload tcp8 'tcp 1 8' paths gbit_per_s 'TCP, 8 streams'
	workload tcp200 'tcp 2 100' paths gbit_per_s 'TCP, 200 streams (2 processes)'
	workload both 'tcp_both' paths gbit_per_s 'TCP, a stream in each direction at once'
	workload variants 'tcp 1 1' variants gbit_per_s 'TCP, 1 stream: checksums and offloads'
	workload udp 'udp_superpackets' paths gbit_per_s 'UDP_SEGMENT, as fast as it can be sent'
	workload pps64 'packets 64' paths packets_per_s '64-byte packets, 16 flows'
	workload imix 'packets 64x7,576x4,1350x1' paths packets_per_s 'IMIX (7 x 64, 4 x 576, 1 x 1350), 16 flows'
	workload latency 'latency 1000' paths p99_us 'UDP request and response, idle, 1 each ms'
	workload loaded 'latency_loaded 1000' paths p99_us 'the same during one full TCP stream'
	workload requests 'latency 0' paths requests_per_s 'UDP requests one after the other'
	workload syscalls 'syscalls' tunnels sender_syscalls_per_mb 'system calls and context switches of a TCP stream'
	workload peers1 'peers_at_scale 1' programs setconf_s '1 peer'
	workload peers1000 'peers_at_scale 1000' programs setconf_s '1,000 peers'
	workload peers10000 'peers_at_scale 10000' programs setconf_s '10,000 peers'
}

# ---- notes

# Lines of fields with tabs between; the report reads them.
figures=$work/figures commands=$work/commands failures=$work/failures others=$work/others
touch "$figures" "$commands" "$failures" "$others"
cell= # "WORKLOAD <tab> SUBJECT <tab> RUN"

figure() { # NAME VALUE
	printf '%s\t%s\t%s\n' "$cell" "$1" "$2" >>"$figures"
}

figures_of() { # JSON-LINE NAME=FIELD...
	local pair json=$1
	shift
	for pair in "$@"; do
		figure "${pair%%=*}" "$(field "$json" "${pair#*=}")"
	done
}

# What is run, as one may type it.
command_note() { # NAMESPACE COMMAND...
	local ns=$1
	shift
	printf '%s\tip netns exec %s %s\n' "$cell" "$id-$ns" "${*@Q}" | sed "s/'\([^' ]*\)'/\1/g" >>"$commands"
}

noted() { # NAMESPACE COMMAND...
	command_note "$@"
	at "$@"
}

# Like noted; the command's output in FILE, its seconds of user and system in FILE.cpu.
timed() { # FILE NAMESPACE COMMAND...
	local file=$1 TIMEFORMAT='%U %S'
	shift
	command_note "$@"
	{ time at "$@" >"$file" 2>"$file.err"; } 2>"$file.cpu"
}

failed() { # REASON
	printf '%s\t%s\n' "$cell" "${1//[$'\n\t']/ }" >>"$failures"
	return 1
}

# ---- CPU

daemon_seconds() { # SIDE: user and system, 0 without a daemon
	local pid=${pid_of[$pair$1]:-}
	if [ -n "$pid" ]; then process_seconds "$pid"; else printf '0 0\n'; fi
}

cpu_begin() {
	cpu_before="$(cpu_seconds) $(daemon_seconds a) $(daemon_seconds b)"
}

# Seconds since cpu_begin per AMOUNT of UNIT: of the whole machine (its busy share,
# too) and of both daemons.
cpu_end() { # UNIT
	cpu_after="$(cpu_seconds) $(daemon_seconds a) $(daemon_seconds b)"
	cpu_unit=$1
}

cpu_figures() { # AMOUNT
	printf '%s %s\n' "$cpu_before" "$cpu_after" | awk -v n="$1" -v unit="$cpu_unit" -v cell="$cell" -v OFS='\t' '
		n > 0 {
			print cell, "machine_cpu_s_per_" unit, ($8 - $1) / n
			print cell, "machine_busy_percent", 100 * ($8 - $1) / ($10 - $3)
			if ($11 + $12 + $13 + $14 > 0) {
				print cell, "sender_user_s_per_" unit, ($11 - $4) / n
				print cell, "sender_system_s_per_" unit, ($12 - $5) / n
				print cell, "receiver_user_s_per_" unit, ($13 - $6) / n
				print cell, "receiver_system_s_per_" unit, ($14 - $7) / n
			}
		}' >>"$figures"
}

# ---- TCP

segments_of() { # NAMESPACE: retransmitted and sent, since the namespace began
	at "$1" nstat -asz TcpRetransSegs TcpOutSegs |
		awk '/^TcpRetransSegs/ { r = $2 } /^TcpOutSegs/ { o = $2 } END { print r + 0, o + r }'
}

is_served() { # NAMESPACE PORT
	at "$1" ss -Hlnt "sport = :$2" | grep -q .
}

# Servers and clients in pairs, all at once; their JSON in $work/client.N.
iperf_all() { # ARGUMENTS-OF-A-CLIENT...
	local i port servers=() clients=() status=0 arguments
	for ((i = 0; i < $#; i++)); do
		port=$((5201 + i))
		timed "$work/server.$i" "${pair}b" iperf3 -s -1 -p "$port" &
		servers+=($!)
		eventually 5 is_served "${pair}b" "$port" || { failed "iperf3 does not listen"; return; }
	done
	cpu_begin
	i=0
	for arguments in "$@"; do
		# shellcheck disable=SC2086 # words
		timed "$work/client.$i" "${pair}a" timeout $((seconds + 20)) iperf3 -c "$address" -p $((5201 + i)) \
			-t "$seconds" -O 1 -J $arguments &
		clients+=($!)
		i=$((i + 1))
	done
	for i in "${!clients[@]}"; do wait "${clients[i]}" || status=1; done
	cpu_end gbit
	for i in "${!servers[@]}"; do
		[ "$status" = 0 ] || kill_served "$((5201 + i))"
		wait "${servers[i]}" || true
	done
	[ "$status" = 0 ] || failed "iperf3: $(tail -q -n 3 "$work"/client.*.err "$work/client.0")"
}

# Ends a server that no client came to.
kill_served() { # PORT
	local pid
	for pid in $(at "${pair}b" ss -Hlntp "sport = :$1" | grep -o 'pid=[0-9]*' | cut -d = -f 2); do
		kill "$pid" 2>/dev/null || true
	done
}

tcp_measure() { # ARGUMENTS-OF-A-CLIENT...
	local segments ports gbit i clients=()
	segments=$(segments_of "${pair}a") ports=$(port_counts "$pair")
	rm -f "$work"/client.* "$work"/server.*
	iperf_all "$@" || return
	segments="$segments $(segments_of "${pair}a")" ports="$ports $(port_counts "$pair")"
	for ((i = 0; i < $#; i++)); do clients+=("$work/client.$i"); done
	python3 "$repo/tests/bench/iperf_figures.py" "${clients[@]}" >"$work/told" ||
		{ failed "iperf3's report: $(<"$work/told")"; return; }
	sed "s/^/$cell\t/" "$work/told" >>"$figures"
	gbit=$(awk '$1 == "carried_gbit" { print $2 }' "$work/told")
	figure resent_percent "$(awk '{ print 100 * ($3 - $1) / ($4 - $2 + ($4 == $2)) }' <<<"$segments")"
	cpu_figures "$gbit"
	awk -v cell="$cell" -v OFS='\t' 'NF == 8 && $6 > $2 && $8 > $4 {
		print cell, "port_bytes_per_read", ($5 - $1) / ($6 - $2)
		print cell, "port_bytes_per_write", ($7 - $3) / ($8 - $4)
	}' <<<"$ports" >>"$figures"
	for i in client server; do
		figure "iperf_${i}_cpu_s_per_gbit" "$(cat "$work/$i".*.cpu |
			awk -v n="$gbit" '{ s += $1 + $2 } END { print s / n }')"
	done
}

tcp() { # PROCESSES STREAMS-OF-EACH
	local i arguments=()
	for ((i = 0; i < $1; i++)); do arguments+=("-P $2"); done
	tcp_measure "${arguments[@]}"
}

tcp_both() {
	tcp_measure '-P 1' '-P 1 -R'
}

# ---- UDP

udp_superpackets() {
	local status=0 wanted_mbit=64000
	command_note "${pair}b" "$UDPSEG_FLOW" receive $((udp_port + 1)) $((seconds + 10))
	command_note "${pair}a" "$UDPSEG_FLOW" send "$address" $((udp_port + 1)) "$wanted_mbit" "$seconds"
	cpu_begin
	udpseg_run "${pair}a" "${pair}b" "$address" "$wanted_mbit" "$seconds" || status=$?
	cpu_end gbit
	[ "$status" -le 1 ] || { failed 'udpseg_flow did not come about'; return; }
	[ "$status" = 0 ] || failed "damaged or doubled: $receiver_told" || true
	figure gbit_per_s "$(field "$receiver_told" mbit | awk '{ print $1 / 1000 }')"
	figure sent_gbit_per_s "$(field "$sender_told" mbit | awk '{ print $1 / 1000 }')"
	figure lost_percent "$(awk -v s="$(field "$sender_told" sent)" -v r="$(field "$receiver_told" received)" \
		'BEGIN { print s ? 100 * (s - r) / s : 0 }')"
	figures_of "$receiver_told" datagrams_per_receive=per_receive
	cpu_figures "$(awk -v n="$(field "$receiver_told" received)" -v len="$(field "$sender_told" segment)" \
		'BEGIN { print n * len * 8 / 1e9 }')"
}

packets() { # SIZES
	local receiver told n_flows=16
	udp_port=$((udp_port + n_flows))
	noted "${pair}b" "$tools/packet_rate" receive "$udp_port" $((seconds + 10)) "$n_flows" >"$work/received" &
	receiver=$!
	eventually 5 is_bound "${pair}b" $((udp_port + n_flows - 1)) || { failed 'packet_rate does not listen'; return; }
	cpu_begin
	noted "${pair}a" "$tools/packet_rate" send "$address" "$udp_port" "$seconds" "$1" "$n_flows" >"$work/sent" ||
		{ kill "$receiver"; failed 'packet_rate does not send'; return; }
	cpu_end mpacket
	wait "$receiver" || { failed 'packet_rate does not receive'; return; }
	told=$(<"$work/received")
	[ "$(field "$told" received)" -gt 0 ] || { failed "no packet came: $told"; return; }
	figures_of "$told" packets_per_s=pps mbit_per_s=mbit
	figure lost_percent "$(awk -v l="$(field "$told" lost)" -v r="$(field "$told" received)" 'BEGIN { print 100 * l / (l + r) }')"
	cpu_figures "$(field "$told" received | awk '{ print $1 / 1e6 }')"
}

latency() { # INTERVAL_US
	local server told
	udp_port=$((udp_port + 1))
	noted "${pair}b" "$tools/request_response" serve "$udp_port" $((seconds + 3)) &
	server=$!
	eventually 5 is_bound "${pair}b" "$udp_port" || { failed 'request_response does not listen'; return; }
	told=$(noted "${pair}a" "$tools/request_response" ask "$address" "$udp_port" "$seconds" "$1") ||
		{ failed "no response: $told"; return; }
	kill "$server" 2>/dev/null || true
	wait "$server" 2>/dev/null || true
	figures_of "$told" p50_us=p50_us p90_us=p90_us p99_us=p99_us max_us=max_us requests_per_s=per_second n_lost=lost
}

# Runs a command while a TCP stream is at full speed; its bytes are in $work/stream.
during_stream() { # COMMAND...
	local server client status=0
	timed "$work/server.0" "${pair}b" iperf3 -s -1 -p 5201 &
	server=$!
	eventually 5 is_served "${pair}b" 5201 || { failed 'iperf3 does not listen'; return; }
	timed "$work/stream" "${pair}a" timeout $((seconds + 20)) iperf3 -c "$address" -p 5201 -t $((seconds + 2)) -J &
	client=$!
	sleep 1
	"$@" || status=1
	wait "$client" || { kill_served 5201; failed "iperf3: $(tail -n 3 "$work/stream")" || status=1; }
	wait "$server" || true
	return "$status"
}

latency_loaded() { # INTERVAL_US
	during_stream latency "$1" || return
	figure stream_gbit_per_s "$(python3 "$repo/tests/bench/iperf_figures.py" "$work/stream" |
		awk '$1 == "gbit_per_s" { print $2 }')"
}

# ---- system calls

perf_pids=()

# Where tracefs is not in sight (behind a /sys of one's own), perf gets a view of its own.
# shellcheck disable=SC2016 # expands there
perf_stat() { # ARGUMENT...
	if [ -e /sys/kernel/tracing/events/raw_syscalls ]; then
		exec perf stat "$@"
	fi
	exec unshare --mount sh -c 'mount -t tracefs tracefs /sys/kernel/tracing && exec perf stat "$@"' perf "$@"
}

perf_start() { # SIDE
	local arguments=('-x,' -e raw_syscalls:sys_enter -p "${pid_of[$pair$1]}")
	printf '%s\tperf stat %s\n' "$cell" "${arguments[*]}" >>"$commands"
	: >"$work/perf.$1"
	perf_stat "${arguments[@]}" -o "$work/perf.$1" 2>"$work/perf.err" &
	perf_pids+=($!)
}

# Counts around a whole stream. Being counted slows it a little: its rate is not one to
# compare.
syscalls() {
	local side switches mb status=0
	declare -A name=([a]=sender [b]=receiver) before=()
	[ -n "${pid_of[${pair}a]:-}" ] || { failed 'there is no daemon'; return; }
	command -v perf >/dev/null || { failed 'perf is not installed'; return; }
	perf_pids=()
	for side in a b; do
		perf_start "$side"
		before[$side]=$(context_switches "${pid_of[$pair$side]}")
	done
	sleep 0.3
	rm -f "$work"/client.* "$work"/server.*
	iperf_all '-P 1' || status=1
	kill -s INT "${perf_pids[@]}" 2>/dev/null || true
	wait "${perf_pids[@]}" || true
	[ "$status" = 0 ] || return "$status"
	mb=$(python3 "$repo/tests/bench/iperf_figures.py" "$work/client.0" | awk '$1 == "carried_gbit" { print $2 * 125 }')
	for side in a b; do
		switches=$(($(context_switches "${pid_of[$pair$side]}") - before[$side]))
		grep -q '^[0-9].*sys_enter' "$work/perf.$side" || { failed "perf: $(<"$work/perf.err")"; return; }
		figure "${name[$side]}_syscalls_per_mb" "$(awk -F , -v mb="$mb" '/sys_enter/ { print $1 / mb }' "$work/perf.$side")"
		figure "${name[$side]}_switches_per_mb" "$(awk -v n="$switches" -v mb="$mb" 'BEGIN { print n / mb }')"
	done
}

# ---- many peers

# The peers that peer_load plays, without the device's own key.
peers_alone() { # N
	"$tools/peer_load" config "$1" 51002 | sed '/^\[Interface\]/,/^\[Peer\]/{/^\[Peer\]/!d}'
}

setconf_timed() { # DEVICE FILE
	local TIMEFORMAT=%R
	printf '%s\twg setconf %s <(peer_load config %s 51002)\n' "$cell" "$1" "$n_peers" >>"$commands"
	{ time wg setconf "$1" "$2" 2>"$work/wg.err"; } 2>"$work/wg.seconds" || { failed "wg: $(tail -n 1 "$work/wg.err")"; return; }
	figure setconf_s "$(tail -n 1 "$work/wg.seconds")"
}

# What a device with all these sessions does when nothing is to be done.
idle_figures() { # PID
	local ns switches
	sleep 1
	ns=$(process_run_ns "$1") switches=$(context_switches "$1")
	sleep "$seconds"
	figure idle_cpu_percent "$(awk -v ns=$(($(process_run_ns "$1") - ns)) -v s="$seconds" 'BEGIN { print ns / 1e7 / s }')"
	figure idle_wakeups_per_s "$(awk -v n=$(($(context_switches "$1") - switches)) -v s="$seconds" 'BEGIN { print n / s }')"
}

# Memory, configuration, handshakes: all peers are one program in the other namespace.
peers_alive() { # DEVICE PID
	local empty idle told
	empty=$(resident_kb "$2")
	setconf_timed "$1" "$work/peers.conf" || return
	idle=$(resident_kb "$2")
	figure empty_kb "$empty"
	figure unused_kb_per_peer "$(awk -v a="$empty" -v b="$idle" -v n="$n_peers" 'BEGIN { print (b - a) / n }')"
	told=$(noted "${pair}a" "$tools/peer_load" connect 192.0.2.2 51002 "$n_peers") ||
		failed "sessions: ${told:-none}" || [ -n "$told" ] || return
	figures_of "$told" handshakes_per_s=per_second n_sessions=confirmed n_cookies=cookies
	sleep 0.5
	figure session_kb_per_peer "$(awk -v a="$empty" -v b="$(resident_kb "$2")" -v n="$n_peers" 'BEGIN { print (b - a) / n }')"
	idle_figures "$2"
}

# A path between two devices that both have all these peers besides each other.
peers_path() {
	local a b
	a=$(tunnel_device "${pair}a") b=$(tunnel_device "${pair}b")
	wg addconf "$a" "$work/others.conf" || { failed 'wg addconf'; return; }
	(umask 077 && wg genkey >"$work/peers.key")
	wg set "$a" private-key "$work/peers.key" listen-port 51001 peer "$(wg show "$b" public-key)" \
		allowed-ips 10.9.0.2/32 endpoint 192.0.2.2:51002
	wg set "$b" peer "$(wg show "$a" public-key)" allowed-ips 10.9.0.1/32 endpoint 192.0.2.1:51001
	eventually 15 is_reached "$pair" 10.9.0.2 || { failed 'no way through'; return; }
	packets 64 || return
	latency 0
}

peers_at_scale() { # N
	local program=${program_of[$pair]} n_peers=$1 status=0
	local pair=q address=10.9.0.2
	"$tools/peer_load" config "$n_peers" 51002 >"$work/peers.conf"
	peers_alone "$n_peers" >"$work/others.conf"
	pair_new q
	daemon_start qb "$program"
	end_up qb "$(tunnel_device qb)" 10.9.0.2 "$tunnel_mtu"
	peers_alive "$(tunnel_device qb)" "${pid_of[qb]}" || status=1
	if [ "$status" = 0 ]; then
		daemon_start qa "$program"
		end_up qa "$(tunnel_device qa)" 10.9.0.1 "$tunnel_mtu"
		peers_path || status=1
	fi
	pair_delete q
	return "$status"
}
