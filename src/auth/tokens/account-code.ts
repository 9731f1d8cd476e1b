/**
 * The form of an account code. A text of another form is treated as an unknown account, and the database is not asked.
 * PostgreSQL would refuse, for example, a text with a NUL character.
 */
export const ACCOUNT_CODE = /^[A-Za-z0-9]{1,64}$/;
