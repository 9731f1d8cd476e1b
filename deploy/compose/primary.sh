#!/bin/sh
# Runs once, when the primary's data directory is created. Creates the replication role, and requires that the standby
# has each commit.
set -eu
psql -v ON_ERROR_STOP=1 -v secret="$REPLICATION_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE follower LOGIN REPLICATION PASSWORD :'secret';
-- Takes effect at the next start, because the standby cannot exist yet and no commit must wait for it.
ALTER SYSTEM SET synchronous_standby_names = 'standby';
SQL
echo 'host replication follower all scram-sha-256' >>"$PGDATA/pg_hba.conf"
