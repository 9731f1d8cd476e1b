/** The form of an account code. Any other text is unknown without a query; PostgreSQL would refuse NUL. */
export const ACCOUNT_CODE = /^[A-Za-z0-9]{1,64}$/;
