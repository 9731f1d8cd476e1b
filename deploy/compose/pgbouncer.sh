#!/bin/sh
# Session mode, as it is shipped: the service keeps prepared statements, locks and LISTEN in its sessions.
set -eu
umask 077
printf '"eligibility" "%s"\n' "$POSTGRES_PASSWORD" >/tmp/users.txt
cat >/tmp/pgbouncer.ini <<INI
[databases]
eligibility = host=primary port=5432
[pgbouncer]
listen_addr = *
listen_port = 6432
unix_socket_dir =
auth_type = scram-sha-256
auth_file = /tmp/users.txt
pool_mode = session
max_client_conn = 400
; Each process holds DATABASE_POOL_SIZE and 2 sessions: four of them 48.
default_pool_size = 80
INI
exec pgbouncer /tmp/pgbouncer.ini
