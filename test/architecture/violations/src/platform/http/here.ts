export const here = 'http';
