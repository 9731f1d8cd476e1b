/**
 * The form of an account code. A text of another form is treated as an unknown account without asking the database,
 * because PostgreSQL would refuse a NUL character.
 */
export const ACCOUNT_CODE = /^[A-Za-z0-9]{1,64}$/;
