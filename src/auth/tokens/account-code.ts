/** The form of an account code: any other text is unknown without asking PostgreSQL, which refuses NUL. */
export const ACCOUNT_CODE = /^[A-Za-z0-9]{1,64}$/;
