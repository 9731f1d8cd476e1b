#!/bin/sh
# Runs once, when the primary makes its files: a role to follow it with, and the wish that each commit is on the standby.
set -eu
psql -v ON_ERROR_STOP=1 -v secret="$REPLICATION_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE follower LOGIN REPLICATION PASSWORD :'secret';
-- Takes effect with the next start: nothing waits for a standby that cannot be there yet.
ALTER SYSTEM SET synchronous_standby_names = 'standby';
SQL
echo 'host replication follower all scram-sha-256' >>"$PGDATA/pg_hba.conf"
