#!/bin/sh
# Uses session mode, the default, because the service keeps prepared statements, locks and LISTEN in its sessions.
set -eu
umask 077
folder=${RUN_FOLDER:-/tmp}
printf '"%s" "%s"\n' "${DATABASE_USER:-eligibility_service}" "$DATABASE_PASSWORD" >"$folder/users.txt"
cat >"$folder/pgbouncer.ini" <<INI
[databases]
eligibility = host=${DATABASE_HOST:-primary} port=${DATABASE_PORT:-5432}
[pgbouncer]
listen_addr = *
listen_port = ${PORT:-6432}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $folder/users.txt
pool_mode = ${POOL_MODE:-session}
max_client_conn = 400
; Each process holds DATABASE_POOL_SIZE and 2 sessions: four of them 48.
default_pool_size = 80
INI
exec pgbouncer "$folder/pgbouncer.ini"
