#!/bin/sh
# Runs once, when PostgreSQL makes its files: the role of the processes, which owns nothing. The migration gives it its rights.
set -eu
psql -v ON_ERROR_STOP=1 -v secret="$SERVICE_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE eligibility_service LOGIN PASSWORD :'secret';
SQL
