export const here = 'embedded-postgres';
