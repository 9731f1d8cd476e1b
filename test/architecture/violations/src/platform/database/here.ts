export const here = 'database';
