#!/bin/sh
# Copies the primary if the data directory is empty, and then follows the primary. The arguments are passed to postgres;
# max_connections must be at least as large as on the primary.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  until pg_basebackup --pgdata "$PGDATA" --write-recovery-conf --wal-method stream \
    --dbname "host=${PRIMARY_HOST:-primary} port=${PRIMARY_PORT:-5432} user=follower password=$REPLICATION_PASSWORD application_name=standby"; do
    sleep 2
  done
  chmod 0700 "$PGDATA"
fi
exec postgres "$@"
