/** What an account code can look like at all: anything else is unknown without asking PostgreSQL, which refuses NUL. */
export const ACCOUNT_CODE = /^[A-Za-z0-9]{1,64}$/;
