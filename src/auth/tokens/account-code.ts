/**
 * The form of an account code. A string in another form is treated as an unknown account, without a query. PostgreSQL
 * would refuse, for example, a string with a NUL character.
 */
export const ACCOUNT_CODE = /^[A-Za-z0-9]{1,64}$/;
