#!/bin/sh
# Runs once, when PostgreSQL's data directory is created. Creates the role of the processes, which owns nothing. The
# migration grants its rights.
set -eu
psql -v ON_ERROR_STOP=1 -v secret="$SERVICE_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE eligibility_service LOGIN PASSWORD :'secret';
SQL
